using System.Buffers;
using System.IO.Pipelines;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>Makes the pipes between one reactor and the application, for the connections of one address.</summary>
internal sealed class ConnectionPipes
{
    private readonly Reactor _reactor;
    private readonly TransportScheduling _scheduling;
    private readonly PipeOptions _input;
    private readonly PipeOptions _output;

    public ConnectionPipes(Reactor reactor, MemoryPool<byte> memory, EndPointSettings settings)
    {
        _reactor = reactor;
        Memory = memory;
        _scheduling = settings.Scheduling;
        PipeScheduler application =
            settings.Scheduling == TransportScheduling.Inline ? new HomeScheduler(reactor) : PipeScheduler.ThreadPool;
        var transport = new TurnEndScheduler(reactor);
        _input = Options(application, transport, settings.ReadBufferBytesMax);
        _output = Options(transport, application, settings.WriteBufferBytesMax);

        PipeOptions Options(PipeScheduler reader, PipeScheduler writer, long bytesMax) => new(
            memory, reader, writer, pauseWriterThreshold: bytesMax, resumeWriterThreshold: bytesMax / 2, useSynchronizationContext: false);
    }

    /// <summary>Where the pipes' memory is from.</summary>
    public MemoryPool<byte> Memory { get; }

    /// <summary>The two ends of a connection's pipes.</summary>
    public (IDuplexPipe Application, IDuplexPipe Transport) Make()
    {
        var input = new Pipe(_input);
        var output = new Pipe(_output);
        PipeReader reader = _scheduling == TransportScheduling.Inline ? new HomingPipeReader(input.Reader, _reactor) : input.Reader;
        return (new DuplexPipe(reader, output.Writer), new DuplexPipe(output.Reader, input.Writer));
    }
}
