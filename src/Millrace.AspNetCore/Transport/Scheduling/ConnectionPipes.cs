using System.Buffers;
using System.IO.Pipelines;
using Millrace.AspNetCore.Transport.Connections;
using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>Creates the pipes between one reactor and the application, for the connections of one endpoint.</summary>
internal sealed class ConnectionPipes
{
    private readonly Reactor _reactor;
    private readonly EndPointSettings _settings;
    private readonly IterationEndScheduler _transport;
    private readonly IterationEndScheduler _sender;
    private readonly (PipeOptions Input, PipeOptions Output) _onPool;

    public ConnectionPipes(Reactor reactor, MemoryPool<byte> memory, EndPointSettings settings)
    {
        _reactor = reactor;
        Memory = memory;
        _settings = settings;
        _transport = new IterationEndScheduler(reactor);
        _sender = settings.Terminator is null ? new IterationEndScheduler(reactor, staysOnPool: true) : _transport;
        _onPool = OptionsFor(PipeScheduler.ThreadPool);
    }

    public MemoryPool<byte> Memory { get; }

    /// <summary>The two ends of a connection's pipes, and the application's scheduler; null for the thread pool.</summary>
    public (IDuplexPipe Application, IDuplexPipe Transport, ReactorScheduler? Scheduler) Make(Connection connection)
    {
        if (_settings.Options.Scheduling == TransportScheduling.ThreadPool)
        {
            (Pipe input, Pipe output) = (new Pipe(_onPool.Input), new Pipe(_onPool.Output));
            return (new DuplexPipe(input.Reader, output.Writer), new DuplexPipe(output.Reader, input.Writer), null);
        }

        var scheduler = new ReactorScheduler(_reactor);
        scheduler.Context = _settings.Options.UseSynchronizationContext ? new ReactorSynchronizationContext(scheduler) : null;
        (PipeOptions inputOptions, PipeOptions outputOptions) = OptionsFor(scheduler);
        var received = new Pipe(inputOptions);
        var toSend = new Pipe(outputOptions);
        var reader = new ReactorPipeReader(received.Reader, scheduler);
        var writer = new NonBlockingFlushPipeWriter(toSend.Writer, scheduler);
        connection.AddToPrefetch(received, PrefetchRanges.FirstPipe, CompletionKinds.Received);
        connection.AddToPrefetch(toSend, PrefetchRanges.SecondPipe, CompletionKinds.Either);
        connection.AddToPrefetch(reader, PrefetchRanges.Ends, CompletionKinds.Received);
        return (new DuplexPipe(reader, writer), new DuplexPipe(toSend.Reader, received.Writer), scheduler);
    }

    private (PipeOptions Input, PipeOptions Output) OptionsFor(PipeScheduler application)
    {
        return (
            Options(application, _transport, _settings.Options.MaxReadBufferSize ?? 0),
            Options(_sender, application, _settings.Options.MaxWriteBufferSize ?? 0));

        PipeOptions Options(PipeScheduler reader, PipeScheduler writer, long bytesMax) => new(
            Memory, reader, writer, pauseWriterThreshold: bytesMax, resumeWriterThreshold: bytesMax / 2, useSynchronizationContext: false);
    }
}

/// <summary>One side's ends of a connection's two pipes.</summary>
internal sealed class DuplexPipe(PipeReader input, PipeWriter output) : IDuplexPipe
{
    public PipeReader Input { get; } = input;

    public PipeWriter Output { get; } = output;
}
