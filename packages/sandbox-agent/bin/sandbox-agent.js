#!/usr/bin/env node
import { launch } from "../dist/launch.js";

await launch(process.argv.slice(2));
