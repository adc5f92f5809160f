using System.Collections.Concurrent;
using System.Globalization;
using Millrace.Http;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.Terminal;
using Millrace.StaticFiles.Compression;

namespace Millrace.Server.Precompress;

/// <summary>
/// Compresses files into others next to them, several at a time. A compressed file gets its original's time, by which a server recognizes
/// that it is current, and appears atomically: it is written under a temporary name, which no server serves, and renamed.
/// </summary>
internal sealed class Precompression(ProgressLine progress, CancellationToken stop)
{
    private static readonly (ContentCoding Coding, string Extension)[] Codings =
        [.. BodyCoder.Codings.ToArray().Select(static coding => (coding, ExtensionOf(coding)))];

    private readonly PrecompressTotals _totals = new();

    public async Task<PrecompressTotals> RunAsync(IReadOnlyList<string> originals)
    {
        var options = new ParallelOptions { MaxDegreeOfParallelism = Environment.ProcessorCount };
        await Parallel.ForEachAsync(originals, options, (original, _) =>
        {
            if (!stop.IsCancellationRequested)
            {
                Code(original);
                progress.Step(original);
            }

            return default;
        });
        return _totals;
    }

    private static string ExtensionOf(ContentCoding coding) => coding switch
    {
        ContentCoding.Brotli => ".br",
        ContentCoding.Zstd => ".zst",
        _ => ".gz",
    };

    private void Code(string original)
    {
        try
        {
            (ContentCoding Coding, string Extension)[] missing =
                [.. Codings.Where(coding => !IsFresh(original + coding.Extension, original))];
            for (int i = missing.Length; i < Codings.Length; i++)
            {
                _totals.Add(CodedOutcome.Fresh);
            }

            if (missing.Length == 0)
            {
                return;
            }

            using FileStream source = File.OpenRead(original);
            Statx before = StateOf(source);
            byte[] body = new byte[source.Length];
            source.ReadExactly(body);
            foreach ((ContentCoding coding, string extension) in missing)
            {
                if (!BodyCoder.TryCode(body, coding, stop, out byte[] coded))
                {
                    _totals.Add(CodedOutcome.Larger);
                }
                else if (StateOf(source).ModifiedAt.ToUnixNs() != before.ModifiedAt.ToUnixNs())
                {
                    _totals.AddFailure($"'{original}' changed meanwhile: run the command again.");
                }
                else
                {
                    Write(original + extension, coded, source, before);
                    _totals.Add(CodedOutcome.Written, body.Length, coded.Length);
                }
            }
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            _totals.AddFailure($"'{original}' was not compressed: {FileProblem.Of(original, refusal)}.");
        }
    }

    /// <summary>Not older than its original, by the server's own test.</summary>
    private static bool IsFresh(string coded, string original) =>
        File.Exists(coded) && File.GetLastWriteTimeUtc(coded) >= File.GetLastWriteTimeUtc(original);

    private static void Write(string path, byte[] coded, FileStream source, in Statx original)
    {
        string temporary = Path.Combine(Path.GetDirectoryName(path)!, $".{Path.GetFileName(path)}.{Environment.ProcessId}");
        try
        {
            using (FileStream target = File.Create(temporary))
            {
#pragma warning disable CA1416 // The engine runs only on Linux.
                File.SetUnixFileMode(target.SafeFileHandle, File.GetUnixFileMode(source.SafeFileHandle));
#pragma warning restore CA1416
                target.Write(coded);
                target.Flush();
                int result = FileCalls.SetModified(Descriptor(target), original.ModifiedAt);
                if (result < 0)
                {
                    throw new IOException($"its time cannot be set: {Errno.Describe(result)}");
                }
            }

            File.Move(temporary, path, overwrite: true);
        }
        finally
        {
            File.Delete(temporary);
        }
    }

    private static Statx StateOf(FileStream file)
    {
        int result = FileCalls.StatDescriptor(Descriptor(file), StatxMask.ModifiedAt, out Statx state);
        return result >= 0 ? state : throw new IOException(Errno.Describe(result));
    }

    private static int Descriptor(FileStream file) => checked((int)file.SafeFileHandle.DangerousGetHandle());
}

/// <summary>What became of a compressed file.</summary>
internal enum CodedOutcome
{
    Written,

    /// <summary>It is up to date already.</summary>
    Fresh,

    /// <summary>Compression does not make it smaller.</summary>
    Larger,

    Failed,
}

/// <summary>The results of a precompression. Any thread adds to them.</summary>
internal sealed class PrecompressTotals
{
    private readonly ConcurrentQueue<string> _failures = [];
    private readonly int[] _counts = new int[Enum.GetValues<CodedOutcome>().Length];
    private long _bytes;
    private long _codedBytes;

    public IEnumerable<string> Failures => _failures;

    public string Summary => string.Create(
        CultureInfo.InvariantCulture,
        $"{CountOf(CodedOutcome.Written)} written{Sizes}, {CountOf(CodedOutcome.Fresh)} up to date, "
            + $"{CountOf(CodedOutcome.Larger)} not smaller, {CountOf(CodedOutcome.Failed)} failed");

    private string Sizes => _bytes == 0 ? "" : string.Create(CultureInfo.InvariantCulture, $" ({_bytes:N0} bytes as {_codedBytes:N0})");

    public void Add(CodedOutcome outcome, int bytes = 0, int codedBytes = 0)
    {
        Interlocked.Increment(ref _counts[(int)outcome]);
        Interlocked.Add(ref _bytes, bytes);
        Interlocked.Add(ref _codedBytes, codedBytes);
    }

    public void AddFailure(string text)
    {
        Add(CodedOutcome.Failed);
        _failures.Enqueue(text);
    }

    private int CountOf(CodedOutcome outcome) => _counts[(int)outcome];
}
