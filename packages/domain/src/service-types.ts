import { type AddonDefinition, addonType, type ServiceType, serviceTypeOf, serviceTypes } from '@stackquay/catalog'

type WithAddons = { readonly addons?: Readonly<Record<string, AddonDefinition>> | undefined }

/** Every type that a project can have as a service: the built-in ones, and the addons that its specification holds. */
export function serviceTypesOf({ addons }: WithAddons): readonly ServiceType[] {
  return addons === undefined ? serviceTypes : [...serviceTypes, ...Object.values(addons).map(addonType)]
}

export function serviceTypeIn({ addons }: WithAddons, name: string): ServiceType | undefined {
  const builtIn = serviceTypeOf(name)
  if (builtIn !== undefined || addons === undefined || !Object.hasOwn(addons, name)) return builtIn
  return addonType(addons[name]!)
}

/** Where the settings of a service stand in the body of its project. */
export function servicePointer({ name, under }: Pick<ServiceType, 'name' | 'under'>): string {
  return under === undefined ? `/${name}` : `/${under}/${name}`
}
