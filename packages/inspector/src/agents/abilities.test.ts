import { expect, test } from "vitest";
import { abilitiesOf } from "./abilities.ts";

test("an ability that is null or missing counts as not known yet", () => {
  const { has, lacks, unknown } = abilitiesOf({ questions: true, planMode: false, images: null });
  expect(has).toEqual(["ask questions"]);
  expect(lacks).toEqual(["plan before it acts"]);
  expect(unknown).toContain("read images");
  expect(unknown).toContain("run commands");
  expect(unknown).toHaveLength(16);
});

test("an ability of a newer server is shown by its name", () => {
  expect(abilitiesOf({ timeTravel: true }).has).toEqual(["time travel"]);
});
