using System.IO.Pipelines;
using Millrace.AspNetCore.Transport.Scheduling;

namespace Millrace.AspNetCore.Multiplexed.Streams;

/// <summary>The two pipes between a stream and its application.</summary>
internal sealed class StreamPipes
{
    public StreamPipes(StreamPipeOptions options)
    {
        Input = new Pipe(options.Input);
        Output = new Pipe(options.Output);
        Application = new DuplexPipe(Input.Reader, Output.Writer);
    }

    /// <summary>What was received.</summary>
    public Pipe Input { get; }

    /// <summary>What is to be sent.</summary>
    public Pipe Output { get; }

    /// <summary>The application's ends.</summary>
    public DuplexPipe Application { get; }

    /// <summary>Any thread.</summary>
    public void CompleteApplication()
    {
        Application.Input.Complete();
        Application.Output.Complete();
    }

    /// <summary>For another stream. All four ends are complete.</summary>
    public void Reset()
    {
        Input.Reset();
        Output.Reset();
    }
}
