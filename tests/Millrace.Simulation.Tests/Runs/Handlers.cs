using System.Buffers;
using System.IO.Pipelines;
using Millrace.Engine;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>What serves those who want no files.</summary>
internal static class Handlers
{
    /// <summary>Sends back what it gets, over the raw members.</summary>
    public static async Task EchoAsync(Connection connection)
    {
        while (await connection.ReadAsync() == ReadOutcome.Data)
        {
            connection.Write(connection.Input);
            connection.Consume(connection.Input.Length);
            if (await connection.FlushAsync() == FlushOutcome.Closed)
            {
                return;
            }
        }
    }

    /// <summary>The same over pipes, and slow to consume: a part at a time stays after and is looked at again.</summary>
    public static async Task EchoByPipeAsync(Connection connection)
    {
        IDuplexPipe pipe = connection.AsDuplexPipe();
        bool isEnded;
        do
        {
            ReadResult read = await pipe.Input.ReadAsync();
            isEnded = read.IsCompleted;
            ReadOnlySequence<byte> taken = isEnded ? read.Buffer : read.Buffer.Slice(0, (read.Buffer.Length + 1) / 2);
            foreach (ReadOnlyMemory<byte> part in taken)
            {
                pipe.Output.Write(part.Span);
            }

            FlushResult flush = await pipe.Output.FlushAsync();
            pipe.Input.AdvanceTo(taken.End);
            if (flush.IsCompleted)
            {
                return;
            }
        }
        while (!isEnded);
    }
}
