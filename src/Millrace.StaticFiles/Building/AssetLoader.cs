using Millrace.Interop.Files;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Content;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Makes an asset of a file: opens it, asks that descriptor for its state, and reads it into memory or for its tag, holds the descriptor
/// or lets it go, as size and budgets say. Head and body of an asset thus come from one descriptor, never from two looks at a name.
/// </summary>
internal sealed unsafe class AssetLoader(
    RootDirectory root, SiteOptions options, ContentTypes types, SnapshotShares shares, SkippedEntries skipped) : IDisposable
{
    /// <summary>A file rewritten by a script is quiet by the second look; one that is a log never is.</summary>
    private const int ReadAttemptsMax = 3;

    /// <summary>A piece of what is read for its tag alone.</summary>
    private const int BufferBytes = 256 * 1024;

    private readonly byte[] _buffer = new byte[BufferBytes];
    private readonly ContentDigest _digest = new();

    /// <summary>The asset, or null where the file cannot be served (noted).</summary>
    public Asset? Load(ListedDirectory directory, SitePath path)
    {
        int fd = root.OpenFile(path.RelativeZ);
        if (fd < 0)
        {
            skipped.Note(directory, path.Bytes, -fd);
            return null;
        }

        Asset? asset = null;
        try
        {
            asset = LoadOpened(directory, path, fd);
            return asset;
        }
        finally
        {
            if (asset?.Descriptor != fd)
            {
                _ = FileCalls.Close(fd);
            }
        }
    }

    public void Dispose() => _digest.Dispose();

    private Asset? LoadOpened(ListedDirectory directory, SitePath path, int fd)
    {
        long lookedAtNs = WallClock.NowNs;
        int result = FileState.Read(fd, out FileState state);
        if (result < 0)
        {
            skipped.Note(directory, path.Bytes, -result);
            return null;
        }

        // It was regular when the walk looked at it; in between it may have been replaced.
        if (state.Type != FileType.Regular)
        {
            skipped.Note(directory, path.Bytes, SkipReason.NotRegular);
            return null;
        }

        ContentType type = types.Of(path.Name);
        for (int attempt = 0; attempt < ReadAttemptsMax && IsRead(state); attempt++)
        {
            FileState before = state;
            bool isKnown = IsKnownByContent(before);
            BodyMemory? body = IsBaked(before) ? BodyMemory.Allocate(before.Size, shares.HasDescriptor) : null;
            long readBytes = Read(fd, body, before.Size, isKnown, out UInt128 digest);
            int statResult = FileState.Read(fd, out state);
            if (readBytes == before.Size && statResult == 0 && state == before)
            {
                AssetValidators own = isKnown
                    ? ValidatorsOfContent(digest, state, lookedAtNs)
                    : ValidatorsOfState(directory, path, state, lookedAtNs);
                var file = new LoadedFile(path, type, state, lookedAtNs, own);
                return body is { } memory ? Baked(file, memory) : OnFile(file, fd);
            }

            body?.Release();

            if (readBytes < 0 || statResult < 0)
            {
                skipped.Note(directory, path.Bytes, (int)-Math.Min(readBytes, statResult));
                return null;
            }

            lookedAtNs = WallClock.NowNs;
        }

        if (IsRead(state))
        {
            skipped.Note(directory, path.Bytes, SkipReason.KeptChanging);
        }

        AssetValidators validators = ValidatorsOfState(directory, path, state, lookedAtNs);
        return OnFile(new LoadedFile(path, type, state, lookedAtNs, validators), fd);
    }

    private bool IsBaked(in FileState state) => state.Size <= options.BakedBytesMax && shares.HasMemoryFor(state.Size);

    private bool IsRead(in FileState state) => IsBaked(state) || IsKnownByContent(state);

    /// <summary>
    /// Not a question of whether it was baked, which depends on memory: of two replicas one may have less, and of one server the room may
    /// change, but not the tag of a file that has not.
    /// </summary>
    private bool IsKnownByContent(in FileState state) =>
        state.Size <= Math.Max(options.RingBytesMax, options.BakedBytesMax) && shares.HasHashingFor(state.Size);

    private AssetValidators ValidatorsOfContent(UInt128 digest, in FileState state, long lookedAtNs)
    {
        shares.TakeHashing(state.Size);
        return AssetValidators.OfContent(digest, state, lookedAtNs);
    }

    private static AssetValidators ValidatorsOfState(ListedDirectory directory, SitePath path, in FileState state, long lookedAtNs) =>
        AssetValidators.OfState(state, lookedAtNs, directory.Previous?.Find(path.Name));

    /// <summary>Into memory, or for its digest alone, or both.</summary>
    private long Read(int fd, BodyMemory? body, long bytes, bool isKnown, out UInt128 digest)
    {
        if (body is { } memory)
        {
            long read = FileContent.Read(fd, memory.Address, bytes, 0);
            digest = isKnown && read == bytes ? ContentDigest.Of(memory.Body) : default;
            return read;
        }

        long readThrough = FileContent.ReadThrough(fd, _buffer, bytes, _digest);
        digest = _digest.Finish();
        return readThrough;
    }

    private Asset Baked(in LoadedFile file, in BodyMemory body)
    {
        shares.TakeMemory(file.State.Size);
        if (body.HasPages)
        {
            shares.TakeDescriptor();
        }

        return Asset.Baked(file, body);
    }

    private Asset OnFile(in LoadedFile file, int fd)
    {
        BodyStrategy strategy = file.State.Size <= options.RingBytesMax ? BodyStrategy.Ring
            : options.SendFile ? BodyStrategy.SendFile
            : BodyStrategy.Stream;
        if (!shares.HasDescriptor)
        {
            return Asset.OnFile(file, strategy, Asset.NoDescriptor);
        }

        shares.TakeDescriptor();
        return Asset.OnFile(file, strategy, fd);
    }
}
