namespace Millrace.StaticFiles.Building;

/// <summary>A directory and the way to it, by identity.</summary>
internal sealed record Place(FileState State, Place? Parent)
{
    /// <summary>
    /// Whether a directory is this one or one of those it lies in: only a symlink to such a one makes a walk endless.
    /// </summary>
    public bool IsOrLiesIn(in FileState directory)
    {
        for (Place? place = this; place is not null; place = place.Parent)
        {
            if (place.State.IsSameFile(directory))
            {
                return true;
            }
        }

        return false;
    }
}
