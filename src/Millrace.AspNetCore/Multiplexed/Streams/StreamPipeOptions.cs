using System.Buffers;
using System.IO.Pipelines;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;

namespace Millrace.AspNetCore.Multiplexed.Streams;

/// <summary>
/// The options of the pipes of one endpoint's streams on one reactor. Kestrel runs handlers on the thread pool, as with HTTP/2; what runs
/// inline on the reactor is its reading of frames. Immutable.
/// </summary>
internal sealed class StreamPipeOptions
{
    /// <summary>Bytes after which a stream's input is passed on at the latest, however large its pipe may become.</summary>
    private const long InputBytesLargest = 64 * 1024;

    public StreamPipeOptions(Reactor reactor, MemoryPool<byte> memory, MillraceEndPointOptions options)
    {
        Memory = memory;
        ContinuesOnPool = options.Scheduling == TransportScheduling.ThreadPool;
        PipeScheduler application = ContinuesOnPool ? PipeScheduler.ThreadPool : new ReactorInlineScheduler(reactor);
        PipeScheduler transport = new IterationEndScheduler(reactor);
        Input = Create(application, transport, options.MaxReadBufferSize ?? 0);
        Output = Create(transport, application, options.MaxWriteBufferSize ?? 0);
        InputBytesMax = options.MaxReadBufferSize is > 0 and < InputBytesLargest and { } most ? most : InputBytesLargest;

        PipeOptions Create(PipeScheduler reader, PipeScheduler writer, long bytesMax) => new(
            memory, reader, writer, pauseWriterThreshold: bytesMax, resumeWriterThreshold: bytesMax / 2, useSynchronizationContext: false);
    }

    public MemoryPool<byte> Memory { get; }

    public PipeOptions Input { get; }

    public PipeOptions Output { get; }

    public long InputBytesMax { get; }

    /// <summary>Whether continuations of Kestrel run on the thread pool only.</summary>
    public bool ContinuesOnPool { get; }
}
