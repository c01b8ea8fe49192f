import { en } from './en.ts'

/** Another language is a file beside `en.ts` of type `Texts`, chosen here. */
export type Texts = typeof en
export const texts: Texts = en
