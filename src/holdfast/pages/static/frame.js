// The way back to the console, for those whom it lets in.

import { Problem, session } from "./calls.js";

const home = document.getElementById("console");

try {
  home.hidden = !(await session()).console;
} catch (problem) {
  // Who is not known here is not known there.
  if (!(problem instanceof Problem)) throw problem;
}
