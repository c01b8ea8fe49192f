/**
 * Tests of what holds at every moment: of kills and crashes, and over random inputs. What fails there once is a fault that the next run
 * may not meet again, so they are never run a second time.
 */
export function isCrashTest(title, source) {
  return isAboutCrashes(title) || takesRandom.test(source)
}

/** Whether a file of tests has one of those. */
export function saysCrash(source) {
  return takesRandom.test(source) || [...source.matchAll(titles)].some(([, , title]) => isAboutCrashes(title))
}

function isAboutCrashes(title) {
  return /\b(kill(s|ed)?|crash(es|ed)?)\b/i.test(title)
}

const takesRandom = /from '@stackquay\/testkit\/(random|rounds)'/
const titles = /\b(?:test|it|describe)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g
