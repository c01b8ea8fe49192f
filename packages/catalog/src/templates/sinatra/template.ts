import type { Template } from '../template.ts'

export const sinatra: Template = {
  name: 'sinatra',
  label: 'Sinatra',
  summary: 'A small Ruby server with a template.',
  runtime: 'ruby',
  registry: 'rubygems',
  folder: 'sinatra/files',
  project: { ruby: { enabled: true, preset: 'sinatra' } },
}
