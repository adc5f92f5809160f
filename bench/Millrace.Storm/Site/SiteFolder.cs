using System.Collections.Concurrent;
using System.IO.Compression;
using System.Runtime.InteropServices;

namespace Millrace.Storm.Site;

/// <summary>
/// The site on disk and what each of its paths was when. The server is given <see cref="Link"/>, a symlink to the root in use.
/// Deployments share the root (<see cref="EnterRoot"/>); who replaces the root has it alone.
/// </summary>
internal sealed partial class SiteFolder : IDisposable
{
    private readonly string _base;
    private readonly ConcurrentDictionary<string, History> _histories = new(StringComparer.Ordinal);
    private readonly ReaderWriterLockSlim _gate = new();
    private int _version;
    private int _rootNumber;

    public SiteFolder(string folder)
    {
        _base = folder;
        Directory.CreateDirectory(Path.Combine(folder, "staging"));
        Link = Path.Combine(folder, "current");
        Root = MakeRoot(out List<(History, Edition)> contents);
        contents.ForEach(static content => content.Item1.Become(content.Item2).Dispose());
        File.CreateSymbolicLink(Link, Root);
    }

    public string Link { get; }

    /// <summary>The directory behind the link.</summary>
    public string Root { get; private set; }

    public History HistoryOf(string path) => _histories.GetOrAdd(path, static _ => new History());

    public string PathOf(string path) => Path.Combine(Root, path);

    /// <summary>A version nobody has seen, somewhat longer than the least.</summary>
    public Edition NewEdition(int file, long bytesMin)
    {
        int version = Interlocked.Increment(ref _version);
        return new Edition(file, version, bytesMin + (version % 32 * Edition.LineBytes));
    }

    public int NewNumber() => Interlocked.Increment(ref _version);

    /// <summary>A file that becomes part of the site by a rename: beside its target under a hidden name, or outside the root.</summary>
    public string Filter(string path, byte[] bytes, bool isOutside)
    {
        string staged = isOutside
            ? Path.Combine(_base, "staging", $"{NewNumber()}")
            : Path.Combine(Path.GetDirectoryName(PathOf(path))!, $".{Path.GetFileName(path)}.{NewNumber()}");
        File.WriteAllBytes(staged, bytes);
        return staged;
    }

    public void EnterRoot() => _gate.EnterReadLock();

    public void LeaveRoot() => _gate.ExitReadLock();

    /// <summary>Swaps the link to a root in which every file is new, and deletes the one before the last.</summary>
    public void SwapRoot(Action whenSwapped)
    {
        _gate.EnterWriteLock();
        try
        {
            string next = MakeRoot(out List<(History, Edition)> contents);
            string link = Path.Combine(_base, $"next-{_rootNumber}");
            File.CreateSymbolicLink(link, next);
            History.Change[] changes = [.. contents.Select(static content => content.Item1.Become(content.Item2))];
            Rename(link, Link);
            Array.ForEach(changes, static change => change.Dispose());
            Root = next;
            whenSwapped();
            string old = Path.Combine(_base, "roots", $"{_rootNumber - 2}");
            if (Directory.Exists(old))
            {
                Directory.Delete(old, recursive: true);
            }
        }
        finally
        {
            _gate.ExitWriteLock();
        }
    }

    /// <summary>rename(2): it replaces files and links, also links to directories, which File.Move does not.</summary>
    public static void Rename(string from, string to)
    {
        if (RenameCall(from, to) != 0)
        {
            throw new IOException($"rename {from} {to}: errno {Marshal.GetLastPInvokeError()}");
        }
    }

    public static byte[] Gzip(byte[] bytes) => Compress(bytes, static to => new GZipStream(to, CompressionLevel.Fastest));

    public static byte[] Brotli(byte[] bytes) => Compress(bytes, static to => new BrotliStream(to, CompressionLevel.Fastest));

    public void Dispose() => _gate.Dispose();

    private string MakeRoot(out List<(History History, Edition Edition)> contents)
    {
        string root = Path.Combine(_base, "roots", $"{++_rootNumber}");
        contents = [];
        foreach (StandingFile file in StandingFile.All)
        {
            Edition edition = NewEdition(file.Number, file.BytesMin);
            string path = Path.Combine(root, file.Upkeep == Upkeep.Released ? "releases/0/" + Path.GetFileName(file.Path) : file.Path);
            Directory.CreateDirectory(Path.GetDirectoryName(path)!);
            byte[] bytes = edition.ToBytes();
            File.WriteAllBytes(path, bytes);
            contents.Add((HistoryOf(file.Path), edition));
            if (file.Upkeep == Upkeep.Precompressed)
            {
                File.WriteAllBytes(path + ".gz", Gzip(bytes));
                File.WriteAllBytes(path + ".br", Brotli(bytes));
                contents.Add((HistoryOf(file.Path + ".gz"), edition));
                contents.Add((HistoryOf(file.Path + ".br"), edition));
            }
        }

        Directory.CreateDirectory(Path.Combine(root, "mass"));
        File.CreateSymbolicLink(Path.Combine(root, "app"), "releases/0");
        return root;
    }

    private static byte[] Compress(byte[] bytes, Func<Stream, Stream> open)
    {
        using var target = new MemoryStream();
        using (Stream coder = open(target))
        {
            coder.Write(bytes);
        }

        return target.ToArray();
    }

    [LibraryImport("libc", EntryPoint = "rename", StringMarshalling = StringMarshalling.Utf8, SetLastError = true)]
    private static partial int RenameCall(string from, string to);
}
