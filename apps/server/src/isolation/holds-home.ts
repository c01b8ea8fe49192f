/** Whether the folder that a project gets is the home of its owner, or around it. */
export function holdsHome(folder: string, home: string): boolean {
  return home === '' || home === '/' || home === folder || home.startsWith(`${folder}/`)
}
