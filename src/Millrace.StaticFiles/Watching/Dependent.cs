using Millrace.Interop.Watching;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Whoever must look again when a name in some directory means something else: a directory with symlinks that pass through there, or
/// the root's own path.
/// </summary>
internal class Dependent(WatchMask mask)
{
    private List<(Watch Watch, byte[] Name)>? _passages;

    /// <summary>The changes of a name that it wants to know of.</summary>
    public WatchMask Mask => mask;

    /// <summary>Is told from now on when this name in this directory changes.</summary>
    public void PassThrough(Watch watch, ReadOnlySpan<byte> name)
    {
        if (watch.TryAddDependent(name, this, out byte[] kept))
        {
            _passages ??= [];
            _passages.Add((watch, kept));
        }
    }

    /// <summary>Gives up all of that; says whom it no longer needs.</summary>
    public void ForgetPassages(Action<Watch> released)
    {
        List<(Watch Watch, byte[] Name)>? passages = _passages;
        _passages = null;
        foreach ((Watch watch, byte[] name) in passages ?? [])
        {
            watch.RemoveDependent(name, this);
            released(watch);
        }
    }
}
