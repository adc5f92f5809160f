using System.Net.Sockets;

namespace Millrace.Tls.Tests.Kit;

/// <summary>A socket's stream that sends in pieces, each on its own, and remembers what came.</summary>
/// <param name="socket">The socket.</param>
/// <param name="bytes">How large a piece is.</param>
/// <param name="pieces">How many of them; the rest of a write goes as it is.</param>
internal sealed class CuttingStream(Socket socket, int bytes, int pieces = int.MaxValue) : NetworkStream(socket)
{
    public List<byte> Received { get; } = [];

    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        for (int i = 0; i < pieces && buffer.Length > bytes; i++)
        {
            await base.WriteAsync(buffer[..bytes], cancellationToken);
            buffer = buffer[bytes..];

            // An iteration of the server's: what follows is another receive, more often than not.
            await Task.Yield();
        }

        await base.WriteAsync(buffer, cancellationToken);
    }

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        int count = await base.ReadAsync(buffer, cancellationToken);
        Received.AddRange(buffer.Span[..count]);
        return count;
    }
}

/// <summary>A socket's stream that keeps what is written until it is released.</summary>
internal sealed class GatheringStream(Socket socket) : NetworkStream(socket)
{
    public bool IsGathering { get; set; }

    public List<byte> Gathered { get; } = [];

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (!IsGathering)
        {
            return base.WriteAsync(buffer, cancellationToken);
        }

        Gathered.AddRange(buffer.Span);
        return default;
    }

    public async Task ReleaseAsync()
    {
        byte[] all = [.. Gathered];
        Gathered.Clear();
        await base.WriteAsync(all);
    }
}
