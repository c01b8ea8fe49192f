import { z } from 'zod'
import { operation } from '../operation.ts'
import { Addon, AddonFile, AddonName, AddonPatch, AddonWithFile, ProjectAddon } from '../schemas/addons.ts'
import { DryRun, listOf, ProjectRef, Wait } from '../schemas/common.ts'
import { Project } from '../schemas/project.ts'
import { ServiceCredentials } from '../schemas/services.ts'

const adminAll = { kind: 'scope', scope: 'admin', instance: true } as const
const read = { kind: 'scope', scope: 'read', project: true } as const
const operate = { kind: 'scope', scope: 'operate', project: true } as const
const admin = { kind: 'scope', scope: 'admin', project: true } as const
const one = z.object({ name: AddonName })
const ofProject = z.object({ id: ProjectRef, name: AddonName })
const Validate = z.stringbool().optional().describe('Reads the file, writes nothing.')
const change = z.strictObject({ dryRun: DryRun, wait: Wait })

export const listAddons = operation({
  id: 'listAddons',
  method: 'GET',
  path: '/addons',
  tag: 'Addons',
  summary: 'Services that administrators added',
  description: 'Projects choose from them as from built-in services.',
  access: adminAll,
  results: { 200: listOf('AddonList', Addon) },
  problems: [],
})

export const getAddon = operation({
  id: 'getAddon',
  method: 'GET',
  path: '/addons/{name}',
  tag: 'Addons',
  summary: 'An addon with its file',
  description: 'Also who uses it.',
  access: adminAll,
  params: one,
  results: { 200: AddonWithFile },
  problems: [],
})

export const addAddon = operation({
  id: 'addAddon',
  method: 'POST',
  path: '/addons',
  tag: 'Addons',
  summary: 'Add an addon, or replace the one of that name',
  description:
    'Faults have line and column. Projects go on with the earlier definition until their next start: `usedBy` names them.',
  access: adminAll,
  body: AddonFile,
  query: z.strictObject({ validate: Validate }),
  results: { 200: Addon, 201: Addon },
  problems: ['validation_failed', 'conflict', 'unavailable'],
  audit: 'addon.write',
})

export const deleteAddon = operation({
  id: 'deleteAddon',
  method: 'DELETE',
  path: '/addons/{name}',
  tag: 'Addons',
  summary: 'Take an addon from the instance',
  description: 'Refused while a project uses it or keeps data of it.',
  access: adminAll,
  params: one,
  results: { 204: null },
  problems: ['conflict'],
  audit: 'addon.delete',
  removes: 'record',
})

export const listProjectAddons = operation({
  id: 'listProjectAddons',
  method: 'GET',
  path: '/projects/{id}/addons',
  tag: 'Addons',
  summary: 'Addons of a project',
  description: 'Those that were ever configured.',
  access: read,
  params: z.object({ id: ProjectRef }),
  results: { 200: listOf('ProjectAddonList', ProjectAddon) },
  problems: [],
})

export const setProjectAddon = operation({
  id: 'setProjectAddon',
  method: 'PUT',
  path: '/projects/{id}/addons/{name}',
  tag: 'Addons',
  summary: 'Enable an addon in a project, or change it',
  description: 'What is absent stays; `enabled` is true by default. It takes the newest definition.',
  access: operate,
  params: ofProject,
  query: change,
  body: AddonPatch.omit({ removeData: true }).meta({ id: 'AddonChange' }),
  results: { 200: Project },
  problems: ['validation_failed', 'busy', 'precondition_failed', 'disk_full'],
  audit: 'addon.update',
  dryRun: true,
})

export const disableProjectAddon = operation({
  id: 'disableProjectAddon',
  method: 'DELETE',
  path: '/projects/{id}/addons/{name}',
  tag: 'Addons',
  summary: 'Switch an addon of a project off',
  description: 'Settings and data stay, as with a service.',
  access: operate,
  params: ofProject,
  query: change,
  results: { 200: Project },
  problems: ['validation_failed', 'busy', 'precondition_failed'],
  audit: 'addon.update',
  removes: 'record',
  dryRun: true,
})

export const getAddonCredentials = operation({
  id: 'getAddonCredentials',
  method: 'GET',
  path: '/projects/{id}/addons/{name}/credentials',
  tag: 'Addons',
  summary: 'How to connect to an addon; every read is audited',
  description: 'Which fields there are its file says.',
  access: operate,
  params: ofProject,
  results: { 200: ServiceCredentials },
  problems: [],
  audit: 'service.credentials.read',
})

export const rotateAddonCredentials = operation({
  id: 'rotateAddonCredentials',
  method: 'POST',
  path: '/projects/{id}/addons/{name}/credentials/rotate',
  tag: 'Addons',
  summary: 'Make new secrets for an addon',
  description: 'It and what uses it restart.',
  access: admin,
  params: ofProject,
  query: change,
  results: { 200: Project },
  problems: ['busy', 'validation_failed', 'precondition_failed'],
  audit: 'service.credentials.rotate',
  dryRun: true,
})
