/** All tests of the conversions in one file, so that a run of all of them starts only one worker. */

import "../src/convert/content.test.ts";
import "../src/convert/errors.test.ts";
import "../src/convert/events.test.ts";
import "../src/convert/items.test.ts";
import "../src/convert/mcp.test.ts";
import "../src/convert/permissions.test.ts";
import "../src/convert/questions.test.ts";
import "../src/convert/settings.test.ts";
import "../src/convert/usage.test.ts";
