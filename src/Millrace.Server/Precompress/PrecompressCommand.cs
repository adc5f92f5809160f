using System.CommandLine;
using System.Text;
using Millrace.Interop.Files;
using Millrace.Server.Host;
using Millrace.Server.Terminal;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Precompress;

/// <summary><c>millrace precompress DIR [--prune]</c>: writes compressed files next to their originals, for a server to serve.</summary>
internal static class PrecompressCommand
{
    public static Command Create()
    {
        var directory = new Argument<string>("DIR") { Description = "The folder, including all its subfolders." };
        var prune = new Option<bool>("--prune")
        {
            Description =
                "Remove compressed files whose original no longer exists: a .br of a compressible type, and a .zst and a .gz next to it.",
        };
        const string Help = "Writes a .br, a .zst and a .gz next to each file that becomes smaller, unless they exist and are current.";
        var command = new Command("precompress", Help) { directory, prune };
        command.SetAction(async (parsed, _) => await RunAsync(parsed.GetValue(directory)!, parsed.GetValue(prune)));
        return command;
    }

    private static async Task<int> RunAsync(string directory, bool prunes)
    {
        if (!Directory.Exists(directory))
        {
            return ErrorLine.Print($"'{directory}' is not a folder: name the folder that is served.", ExitCode.Usage);
        }

        using var stop = new StopSignal();
        using var stopping = new CancellationTokenSource();
        Task cancelling = stop.Requested.ContinueWith(_ => stopping.Cancel(), TaskScheduler.Default);
        CodedTree tree = CodedTree.Walk(directory);
        using var progress = new ProgressLine("Compressing", tree.Originals.Count);
        PrecompressTotals totals = await new Precompression(progress, stopping.Token).RunAsync(tree.Originals);
        progress.Dispose();
        if (stopping.IsCancellationRequested)
        {
            await cancelling;
            return ErrorLine.Print("stopped; all files written so far are complete.", ExitCode.Refused);
        }

        string[] failures = [.. prunes ? Remove(tree.Orphans) : [], .. tree.Failures, .. totals.Failures];
        foreach (string failure in failures)
        {
            ErrorLine.Print(failure);
        }

        string skipped = tree.Skipped == 0 ? "" : $"; {Counted.Of(tree.Skipped, "file")} of other types or sizes";
        Console.WriteLine(totals.Summary + skipped);
        return failures.Length == 0 ? ExitCode.Done : ExitCode.Refused;
    }

    /// <summary>Removes files, and returns messages about failures.</summary>
    private static IEnumerable<string> Remove(IEnumerable<string> orphans)
    {
        foreach (string orphan in orphans)
        {
            string? failure = null;
            try
            {
                File.Delete(orphan);
                Console.WriteLine($"Removed {orphan}");
            }
            catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
            {
                failure = $"'{orphan}' cannot be removed: {FileProblem.Of(orphan, refusal)}.";
            }

            if (failure is not null)
            {
                yield return failure;
            }
        }
    }
}

/// <summary>
/// The files of a folder and its subfolders that matter to compression. Skips symlinks, which lead elsewhere, and names with a leading dot,
/// which are not served.
/// </summary>
internal sealed class CodedTree
{
    private static readonly ContentTypes Types = new(new SiteOptions { Root = "." });

    private static readonly EnumerationOptions Below = new()
    {
        AttributesToSkip = FileAttributes.ReparsePoint | FileAttributes.Hidden,
        IgnoreInaccessible = false,
    };

    private readonly List<(string File, long Bytes)> _originals = [];
    private readonly List<string> _orphans = [];
    private readonly List<string> _failures = [];

    private CodedTree()
    {
    }

    /// <summary>Files of a type and size worth compressing, the largest first, so that the last job is short.</summary>
    public IReadOnlyList<string> Originals => [.. _originals.Select(static original => original.File)];

    /// <summary>
    /// Compressed files without an original: <c>x.br</c> where x would be compressed, and the <c>x.zst</c> and <c>x.gz</c> next to it.
    /// Without an <c>x.br</c> those may be downloads, and are not among them.
    /// </summary>
    public IReadOnlyList<string> Orphans => _orphans;

    /// <summary>Files of a type or size that is not worth compressing, without compressed files.</summary>
    public int Skipped { get; private set; }

    /// <summary>Messages about folders that could not be read.</summary>
    public IReadOnlyList<string> Failures => _failures;

    public static CodedTree Walk(string directory)
    {
        var tree = new CodedTree();
        var open = new Stack<string>([directory]);
        while (open.TryPop(out string? next))
        {
            try
            {
                tree.Add(next);
                Array.ForEach(Directory.GetDirectories(next, "*", Below), open.Push);
            }
            catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
            {
                tree._failures.Add($"'{next}' cannot be read: {FileProblem.Of(next, refusal)}.");
            }
        }

        tree._originals.Sort(static (left, right) => right.Bytes.CompareTo(left.Bytes));
        return tree;
    }

    private void Add(string directory)
    {
        HashSet<string> files = [.. Directory.GetFiles(directory, "*", Below)];
        foreach (string file in files)
        {
            bool isBrotli = file.EndsWith(".br", StringComparison.Ordinal);
            string original = isBrotli ? file[..^".br".Length] : file;
            if (!Types.Of(Encoding.UTF8.GetBytes(Path.GetFileName(original))).IsCompressible)
            {
                bool isCoded = Path.GetExtension(file) is ".br" or ".zst" or ".gz" && files.Contains(Path.ChangeExtension(file, null));
                Skipped += isCoded ? 0 : 1;
                continue;
            }

            if (!isBrotli)
            {
                var info = new FileInfo(file);
                if (info.Exists && info.Length is >= BodyCoder.BytesMin and <= BodyCoder.BytesMax)
                {
                    _originals.Add((file, info.Length));
                }
                else
                {
                    Skipped++;
                }
            }
            else if (!files.Contains(original))
            {
                _orphans.Add(file);
                _orphans.AddRange(new[] { original + ".zst", original + ".gz" }.Where(files.Contains));
            }
        }
    }
}
