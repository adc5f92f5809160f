using System.IO.Pipelines;
using BenchmarkDotNet.Attributes;

namespace Millrace.Microbench;

/// <summary>The copy of received bytes into Kestrel's pipe (ADR 0017), and what a pipe costs without it.</summary>
public class PipeInput
{
    private const int PieceBytesMax = 4096;

    private readonly Pipe _pipe = new(new PipeOptions(
        readerScheduler: PipeScheduler.Inline, writerScheduler: PipeScheduler.Inline, useSynchronizationContext: false));

    private byte[] _received = [];

    /// <summary>A request, a block of the pool, a record of TLS or a full receive buffer.</summary>
    [Params(160, 4096, 16 * 1024)]
    public int Bytes { get; set; }

    [GlobalSetup]
    public void Receive() => _received = GC.AllocateUninitializedArray<byte>(Bytes, pinned: true);

    [Benchmark(Baseline = true)]
    public long PassOn() => PassOn(isCopied: false);

    [Benchmark]
    public long CopyAndPassOn() => PassOn(isCopied: true);

    private long PassOn(bool isCopied)
    {
        for (ReadOnlySpan<byte> left = _received; left.Length > 0;)
        {
            int piece = Math.Min(left.Length, PieceBytesMax);
            Span<byte> room = _pipe.Writer.GetSpan(piece);
            if (isCopied)
            {
                left[..piece].CopyTo(room);
            }

            _pipe.Writer.Advance(piece);
            left = left[piece..];
        }

        ValueTask<FlushResult> flush = _pipe.Writer.FlushAsync();
        if (!flush.IsCompletedSuccessfully)
        {
            throw new InvalidOperationException("The pipe has room for all of it.");
        }

        _pipe.Reader.TryRead(out ReadResult read);
        long bytes = read.Buffer.Length;
        _pipe.Reader.AdvanceTo(read.Buffer.End);
        return bytes;
    }
}
