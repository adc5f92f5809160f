using System.Text;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Precompress;

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
    /// Compressed files without an original: <c>x.br</c> where x would be compressed, and the <c>x.gz</c> next to it. An <c>x.gz</c> alone
    /// may be a download, and is not one.
    /// </summary>
    public IReadOnlyList<string> Orphans => _orphans;

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
                tree._failures.Add($"'{next}' cannot be read: {refusal.Message}");
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
                continue;
            }

            if (!isBrotli)
            {
                var info = new FileInfo(file);
                if (info.Exists && info.Length is >= BodyCoder.BytesMin and <= BodyCoder.BytesMax)
                {
                    _originals.Add((file, info.Length));
                }
            }
            else if (!files.Contains(original))
            {
                _orphans.Add(file);
                _orphans.AddRange(files.Contains(original + ".gz") ? [original + ".gz"] : []);
            }
        }
    }
}
