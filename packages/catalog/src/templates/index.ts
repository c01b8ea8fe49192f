import { django } from './django/template.ts'
import { examples } from './examples.ts'
import { express } from './express/template.ts'
import { fastapi } from './fastapi/template.ts'
import { flask } from './flask/template.ts'
import { goHttp } from './go-http/template.ts'
import { next } from './next/template.ts'
import { plain } from './plain/template.ts'
import { sinatra } from './sinatra/template.ts'
import { staticTemplate } from './static/template.ts'
import type { Template } from './template.ts'
import { viteReact } from './vite-react/template.ts'

export type { Template } from './template.ts'

/** In the order of the gallery; a test compares this list with the folders beside it. */
export const templates: readonly Template[] = [
  viteReact,
  express,
  next,
  flask,
  fastapi,
  django,
  goHttp,
  sinatra,
  plain,
  staticTemplate,
  ...examples,
]

export function templateOf(name: string): Template | undefined {
  return templates.find((template) => template.name === name)
}
