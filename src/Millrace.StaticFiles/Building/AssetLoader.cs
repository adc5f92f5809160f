using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Content;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Makes an asset of a file: opens it, asks that descriptor for its state, and bakes it, holds the descriptor or lets it go, as size and
/// budgets say. Head and body of an asset thus come from one descriptor, never from two looks at a name.
/// </summary>
internal sealed unsafe class AssetLoader(SnapshotResources resources, PathTable paths, SiteOptions options, SkippedEntries skipped)
{
    /// <summary>A file rewritten by a script is quiet by the second look; one that is a log never is.</summary>
    private const int BakeAttemptsMax = 3;

    /// <summary>The asset, or null where the file cannot be served (noted).</summary>
    public Asset? Load(int pathIndex)
    {
        int fd = resources.Root.OpenFile(paths.RelativePathZAt(pathIndex));
        if (fd < 0)
        {
            skipped.Note(paths.PathAt(pathIndex), -fd);
            return null;
        }

        Asset? asset = null;
        try
        {
            asset = LoadOpened(pathIndex, fd);
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

    private Asset? LoadOpened(int pathIndex, int fd)
    {
        ReadOnlySpan<byte> path = paths.PathAt(pathIndex);
        int result = FileState.Read(fd, out FileState state);
        if (result < 0)
        {
            skipped.Note(path, -result);
            return null;
        }

        // It was regular when the walk looked at it; in between it may have been replaced.
        if (state.Type != FileType.Regular)
        {
            skipped.Note(path, SkipReason.NotRegular);
            return null;
        }

        ContentType type = ContentTypes.Of(path[(path.LastIndexOf((byte)'/') + 1)..]);
        BakeOutcome outcome = Bake(path, fd, ref state, out byte* body);
        return outcome switch
        {
            BakeOutcome.Baked => Asset.Baked(pathIndex, type, state, body),
            BakeOutcome.LeftInFile => OnFile(pathIndex, type, state, fd),
            _ => null,
        };
    }

    private Asset OnFile(int pathIndex, ContentType type, in FileState state, int fd)
    {
        BodyStrategy strategy = state.Size <= options.RingBytesMax ? BodyStrategy.Ring : BodyStrategy.Stream;
        return Asset.OnFile(pathIndex, type, state, strategy, resources.TryHold(fd) ? fd : Asset.NoDescriptor);
    }

    /// <summary>Reads a file into memory until its state before and after are the same.</summary>
    private BakeOutcome Bake(ReadOnlySpan<byte> path, int fd, ref FileState state, out byte* body)
    {
        body = null;
        for (int attempt = 0; attempt < BakeAttemptsMax; attempt++)
        {
            if (state.Size > options.BakedBytesMax || !resources.HasRoomFor(state.Size))
            {
                return BakeOutcome.LeftInFile;
            }

            body = resources.Reserve(state.Size);
            FileState before = state;
            long readBytes = ReadWhole(fd, body, before.Size);
            int statResult = FileState.Read(fd, out state);
            if (readBytes < 0 || statResult < 0)
            {
                skipped.Note(path, (int)-Math.Min(readBytes, statResult));
                return BakeOutcome.Failed;
            }

            if (readBytes == before.Size && state == before)
            {
                resources.Commit(state.Size);
                return BakeOutcome.Baked;
            }
        }

        skipped.Note(path, SkipReason.KeptChanging);
        return BakeOutcome.LeftInFile;
    }

    /// <summary>The bytes read: fewer than wanted where the file ends before; or -errno.</summary>
    private static long ReadWhole(int fd, byte* buffer, long bytesWanted)
    {
        long done = 0;
        while (done < bytesWanted)
        {
            nint result = FileCalls.PositionalRead(fd, buffer + done, (nuint)(bytesWanted - done), done);
            if (result == 0)
            {
                break;
            }

            if (result < 0 && result != -Errno.EINTR)
            {
                return result;
            }

            done += Math.Max(result, 0);
        }

        return done;
    }

    private enum BakeOutcome
    {
        Baked,
        LeftInFile,
        Failed,
    }
}
