using Millrace.Interop.Watching;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Something to be rescanned when a name in some directory changes: a directory whose symlinks lead through there, or the root's own path.
/// </summary>
internal class DependencyWatch(WatchMask mask)
{
    private List<(DirectoryWatch Watch, byte[] Name)>? _dependencies;

    /// <summary>The changes of a name that matter to it.</summary>
    public WatchMask Mask => mask;

    /// <summary>Depends from now on on this name in this directory.</summary>
    public void DependOn(DirectoryWatch watch, ReadOnlySpan<byte> name)
    {
        if (watch.TryAddDependent(name, this, out byte[] kept))
        {
            _dependencies ??= [];
            _dependencies.Add((watch, kept));
        }
    }

    /// <summary>Removes all dependencies; reports the directories that it no longer needs.</summary>
    public void ClearDependencies(Action<DirectoryWatch> released)
    {
        List<(DirectoryWatch Watch, byte[] Name)>? dependencies = _dependencies;
        _dependencies = null;
        foreach ((DirectoryWatch watch, byte[] name) in dependencies ?? [])
        {
            watch.RemoveDependent(name, this);
            released(watch);
        }
    }
}
