using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// Is told which directories a catalogue reads, so that none changes unseen. Called on the thread that opens, reloads or refreshes the
/// catalogue, one call at a time; paths are from the root with a leading '/', the root's own is empty, and valid for the call only.
/// </summary>
internal interface IDirectoryObserver
{
    /// <summary>
    /// A directory is about to be listed: what changes from here on must come back as a refresh. Called again for each listing, also
    /// of a directory that is known already.
    /// </summary>
    /// <param name="directoryFd">The descriptor that will be listed; the walk closes it.</param>
    /// <param name="path">Its path.</param>
    /// <param name="state">Its state by that descriptor.</param>
    void Entering(int directoryFd, ReadOnlySpan<byte> path, in FileState state);

    /// <summary>A directory that was entered before is the same, and some of its entries are about to be looked at.</summary>
    /// <param name="path">Its path.</param>
    void Keeping(ReadOnlySpan<byte> path);

    /// <summary>An entry, to a file, a directory or nothing, that is a symlink.</summary>
    /// <param name="path">The path of the symlink itself.</param>
    void MetSymlink(ReadOnlySpan<byte> path);

    /// <summary>A directory is no longer part of the site. Called after the swap.</summary>
    /// <param name="path">Its path.</param>
    void Left(ReadOnlySpan<byte> path);
}
