using Millrace.Http;
using Millrace.Interop.Files;
using Millrace.Interop.Watching;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// Makes an asset from a file: opens it, takes its state from that descriptor, and depending on size and budgets reads it into memory,
/// reads it for its tag, and keeps or closes the descriptor. Head and body thus come from one descriptor, never from two lookups of a name.
/// </summary>
internal sealed class AssetLoader(
    RootDirectory root, SiteOptions options, ContentTypes types, SnapshotBudget budget, SkippedEntries skipped, ScanProgress? progress)
{
    /// <summary>A file rewritten by a script is stable by the second read; a log never is.</summary>
    private const int ReadAttemptsMax = 3;

    /// <summary>The chunk size of reads for the tag alone.</summary>
    private const int BufferBytes = 256 * 1024;

    /// <summary>The most that is read of a file whose size is untrue: such kernel files have a few pages.</summary>
    private const int UntrueBytesMax = 1024 * 1024;

    /// <summary>By device, whether the kernel generates file content on read: such files report a size of 0, a page, or anything.</summary>
    private readonly Dictionary<uint, bool> _kernelMade = [];

    private readonly NamedCodings _named = new(types, options.CodedByName);
    private readonly byte[] _buffer = new byte[BufferBytes];
    private readonly ContentDigest _digest = new();

    /// <summary>The asset; null if the file is not served, without content if it cannot be read (both are noted).</summary>
    public Asset? Load(ListedDirectory directory, SitePath path)
    {
        progress?.At(path);
        int fd = root.OpenFile(path.RelativeZ);
        if (fd < 0)
        {
            skipped.Note(directory, path, -fd);
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

    private Asset? LoadOpened(ListedDirectory directory, SitePath path, int fd)
    {
        long checkedAtNs = WallClock.NowNs;
        int result = FileState.Read(fd, out FileState state);
        if (result < 0)
        {
            skipped.Note(directory, path, -result);
            return null;
        }

        // It was regular when the scan saw it, but may have been replaced since.
        if (state.Type != FileType.Regular)
        {
            skipped.Note(directory, path, SkipReason.NotRegular);
            return null;
        }

        if (options.PrivateFiles?.Contains(state) == true)
        {
            skipped.Note(directory, path, SkipReason.Private);
            return null;
        }

        Asset? previous = directory.Previous?.Find(path.Name);
        if (IsKernelMade(fd, state))
        {
            return LoadUntrue(directory, path, fd, state);
        }

        ContentType type = _named.TypeOf(path.Name, fd, out ContentCoding coding);

        for (int attempt = 0; attempt < ReadAttemptsMax && IsRead(state); attempt++)
        {
            FileState before = state;
            bool isHashed = IsHashed(before);
            BodyMemory? body = IsInMemory(before) ? BodyMemory.Allocate(before.Size, budget.HasDescriptor) : null;
            long readBytes = Read(fd, body, before.Size, isHashed, out UInt128 digest);
            int statResult = FileState.Read(fd, out state);
            bool isUnchanged = readBytes >= 0 && statResult == 0 && state == before;
            if (isUnchanged && (readBytes != before.Size || (before.Size == 0 && FileContent.Read(fd, _buffer.AsSpan(0, 1)) > 0)))
            {
                body?.Release();
                return LoadUntrue(directory, path, fd, state);
            }

            if (isUnchanged)
            {
                budget.TakeHashing(isHashed ? state.Size : 0);
                AssetValidators ownValidators = isHashed
                    ? AssetValidators.OfContent(digest, state, checkedAtNs, previous)
                    : AssetValidators.OfState(state, checkedAtNs, previous);
                var file = new LoadedFile(path, type, state, checkedAtNs, ownValidators) { Coding = coding };
                return body is { } memory ? InMemory(file, memory) : OnFile(file, fd);
            }

            body?.Release();

            if (readBytes < 0 || statResult < 0)
            {
                skipped.Note(directory, path, (int)-Math.Min(readBytes, statResult));
                return Unreadable(path, state);
            }

            checkedAtNs = WallClock.NowNs;
        }

        if (IsRead(state))
        {
            skipped.Note(directory, path, SkipReason.ChangedDuringRead);
        }

        AssetValidators validators = AssetValidators.OfState(state, checkedAtNs, previous);
        return OnFile(new LoadedFile(path, type, state, checkedAtNs, validators) { Coding = coding }, fd);
    }

    /// <summary>
    /// Loads a file whose reported size is untrue (/sys: a page; /proc: 0; some FUSE file systems): what can be read is kept in memory, and
    /// every refresh reads it again. It has no date, since its times say nothing about its content.
    /// </summary>
    private Asset? LoadUntrue(ListedDirectory directory, SitePath path, int fd, in FileState state)
    {
        byte[] content = [];
        int read;
        do
        {
            // In one read from its start, because some files change with each read: content from two reads would be torn.
            content = new byte[Math.Min(Math.Max(2 * content.Length, 2 * Environment.SystemPageSize), UntrueBytesMax + 1)];
            read = FileContent.Read(fd, content);
        }
        while (read == content.Length && read <= UntrueBytesMax);
        if (read < 0)
        {
            skipped.Note(directory, path, -read);
            return Unreadable(path, state);
        }

        if (read > UntrueBytesMax || !budget.HasMemoryFor(read))
        {
            skipped.Note(directory, path, SkipReason.SizeUntrue);
            return Unreadable(path, state);
        }

        var body = BodyMemory.Allocate(read, mayHoldDescriptor: false);
        content.AsSpan(0, read).CopyTo(body.Body);
        AssetValidators validators = AssetValidators.OfUntrueState(ContentDigest.Of(body.Body));
        return InMemory(new LoadedFile(path, types.Of(path.Name), state, WallClock.NowNs, validators), body);
    }

    /// <summary>The file exists but its content is not readable: 500, as 404 would deny its existence.</summary>
    private Asset Unreadable(SitePath path, in FileState state) =>
        Asset.Unreadable(new LoadedFile(path, types.Of(path.Name), state, WallClock.NowNs, AssetValidators.OfUntrueState(default)));

    private bool IsKernelMade(int fd, in FileState state)
    {
        if (!_kernelMade.TryGetValue(state.Device, out bool isKernelMade))
        {
            isKernelMade = WatchCalls.GetFileSystem(fd, out FileSystemStatus status) >= 0 && status.Magic is
                FileSystemMagic.Proc or FileSystemMagic.Sysfs or FileSystemMagic.Cgroup or FileSystemMagic.Cgroup2
                or FileSystemMagic.DebugFs or FileSystemMagic.TraceFs or FileSystemMagic.ConfigFs or FileSystemMagic.SecurityFs
                or FileSystemMagic.EfiVarFs or FileSystemMagic.ResCtrl;
            _kernelMade.Add(state.Device, isKernelMade);
        }

        return isKernelMade;
    }

    private bool IsInMemory(in FileState state) => state.Size <= options.CacheFileBytesMax && budget.HasMemoryFor(state.Size);

    private bool IsRead(in FileState state) => IsInMemory(state) || IsHashed(state);

    /// <summary>
    /// Independent of whether it is kept in memory: replicas may differ in memory, and one server's free memory varies, but the tag of an
    /// unchanged file must not.
    /// </summary>
    private bool IsHashed(in FileState state) =>
        state.Size <= Math.Max(options.ReadBytesMax, options.CacheFileBytesMax) && budget.HasHashingFor(state.Size);

    /// <summary>Reads into memory, or for the digest alone, or both.</summary>
    private long Read(int fd, BodyMemory? body, long bytes, bool isHashed, out UInt128 digest)
    {
        if (body is { } memory)
        {
            int read = FileContent.Read(fd, memory.Body);
            digest = isHashed && read == bytes ? ContentDigest.Of(memory.Body) : default;
            return read;
        }

        long done = 0;
        int count;
        do
        {
            count = FileContent.Read(fd, _buffer.AsSpan(0, (int)Math.Min(BufferBytes, bytes - done)), done);
            _digest.Append(_buffer.AsSpan(0, Math.Max(count, 0)));
            done += count;
        }
        while (count == BufferBytes && done < bytes);

        digest = _digest.Finish();
        return count < 0 ? count : done;
    }

    private Asset InMemory(in LoadedFile file, in BodyMemory body)
    {
        budget.TakeMemory(body.Bytes);
        if (body.HasPages)
        {
            budget.TakeDescriptor();
        }

        return Asset.InMemory(file, body);
    }

    private Asset OnFile(in LoadedFile file, int fd)
    {
        BodyStrategy strategy = file.State.Size <= options.ReadBytesMax ? BodyStrategy.SingleRead
            : options.SendFile ? BodyStrategy.SendFile
            : BodyStrategy.Streamed;
        if (!budget.HasDescriptor)
        {
            return Asset.OnFile(file, strategy, Asset.NoDescriptor);
        }

        budget.TakeDescriptor();
        return Asset.OnFile(file, strategy, fd);
    }
}
