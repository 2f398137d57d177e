// Lets the programs beside it import packages from the directory that INTEROP_ROOT names.
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const root = pathToFileURL(`${process.env.INTEROP_ROOT}/`).href;
const here = new URL("./", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = context.parentURL?.startsWith(here) && specifier.startsWith("@");
    return next(specifier, isOurs ? { ...context, parentURL: root } : context);
  },
});
