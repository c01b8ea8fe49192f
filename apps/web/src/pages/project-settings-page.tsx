import { useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ImagesPanel } from '../modules/images-panel.tsx'
import { LimitsPanel } from '../modules/limits-panel.tsx'
import { SleepPanel } from '../modules/sleep-panel.tsx'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { Delete } from './project-settings/delete.tsx'
import { Duplicate } from './project-settings/duplicate.tsx'
import { General } from './project-settings/general.tsx'
import { ProjectFile } from './project-settings/project-file.tsx'
import { Rename } from './project-settings/rename.tsx'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const _t = texts.settings

export function ProjectSettingsPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.settings)
  const { hash } = useLocation()
  const may = useMay()
  useEffect(() => {
    if (hash !== '') document.getElementById(hash)?.scrollIntoView({ block: 'start' })
  }, [hash])
  return (
    <div className="flex w-full max-w-4xl flex-col gap-4 px-4 py-5 sm:px-6">
      <General key={`${project.id}${project.generation}`} project={project} />
      <SleepPanel key={`sleep${project.id}${project.generation}`} project={project} />
      <LimitsPanel project={project} />
      <ImagesPanel project={project} />
      <ProjectFile project={project} />
      {may('admin') && (
        <>
          <Rename key={project.slug} project={project} />
          <Duplicate project={project} />
          <Delete project={project} />
        </>
      )}
    </div>
  )
}
