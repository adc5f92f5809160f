using System.Buffers;
using System.IO.Pipelines;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Engine.Watching;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>Makes the pipes between one reactor and the application, for the connections of one address.</summary>
internal sealed class ConnectionPipes
{
    /// <summary>The scheduler and the options that are made before it, the pipe, and its own two ends.</summary>
    private static readonly Extent FirstPipe = new(Behind: 424, Before: 192);
    private static readonly Extent SecondPipe = new(Behind: 424);

    /// <summary>The reader and the writer that the application has.</summary>
    private static readonly Extent Ends = new(Behind: 320);

    private readonly Reactor _reactor;
    private readonly EndPointSettings _settings;
    private readonly TurnEndScheduler _transport;
    private readonly PipeScheduler _sender;
    private readonly (PipeOptions Input, PipeOptions Output) _onPool;

    public ConnectionPipes(Reactor reactor, MemoryPool<byte> memory, EndPointSettings settings)
    {
        _reactor = reactor;
        Memory = memory;
        _settings = settings;
        _transport = new TurnEndScheduler(reactor);
        _sender = settings.Terminator is null ? new SendScheduler(reactor) : _transport;
        _onPool = OptionsFor(PipeScheduler.ThreadPool);
    }

    /// <summary>Where the pipes' memory is from.</summary>
    public MemoryPool<byte> Memory { get; }

    /// <summary>The two ends of a connection's pipes, and where the application is to be found; null for the thread pool.</summary>
    /// <param name="occupant">The connection as the application has it.</param>
    /// <param name="connection">And as the engine has it.</param>
    public (IDuplexPipe Application, IDuplexPipe Transport, HomeScheduler? Home) Make(IOccupant occupant, Connection connection)
    {
        if (_settings.Scheduling == TransportScheduling.ThreadPool)
        {
            (Pipe input, Pipe output) = (new Pipe(_onPool.Input), new Pipe(_onPool.Output));
            return (new DuplexPipe(input.Reader, output.Writer), new DuplexPipe(output.Reader, input.Writer), null);
        }

        var home = new HomeScheduler(_reactor, occupant);
        home.Context = _settings.UsesSynchronizationContext ? new HomeContext(home) : null;
        (PipeOptions inputOptions, PipeOptions outputOptions) = OptionsFor(home);
        var received = new Pipe(inputOptions);
        var toSend = new Pipe(outputOptions);
        var reader = new HomingPipeReader(received.Reader, home);
        var writer = new RelievedPipeWriter(toSend.Writer, home);
        connection.AddToFootprint(received, FirstPipe, Occasion.Received);
        connection.AddToFootprint(toSend, SecondPipe, Occasion.Either);
        connection.AddToFootprint(reader, Ends, Occasion.Received);
        return (new DuplexPipe(reader, writer), new DuplexPipe(toSend.Reader, received.Writer), home);
    }

    private (PipeOptions Input, PipeOptions Output) OptionsFor(PipeScheduler application)
    {
        return (
            Options(application, _transport, _settings.ReadBufferBytesMax),
            Options(_sender, application, _settings.WriteBufferBytesMax));

        PipeOptions Options(PipeScheduler reader, PipeScheduler writer, long bytesMax) => new(
            Memory, reader, writer, pauseWriterThreshold: bytesMax, resumeWriterThreshold: bytesMax / 2, useSynchronizationContext: false);
    }
}
