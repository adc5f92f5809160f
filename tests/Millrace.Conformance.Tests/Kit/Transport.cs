namespace Millrace.Conformance.Tests.Kit;

/// <summary>What carries a wire's bytes.</summary>
internal abstract class Transport : IDisposable
{
    /// <summary>How many were sent.</summary>
    public abstract ValueTask<int> SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation);

    /// <summary>How many were received; 0 at the end.</summary>
    public abstract ValueTask<int> ReceiveAsync(Memory<byte> bytes, CancellationToken cancellation);

    /// <summary>Nothing more is sent, but all is received.</summary>
    public abstract Task FinishSendingAsync();

    public abstract void Dispose();

    /// <summary>Sends all of them.</summary>
    public async Task SendAllAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation)
    {
        while (!bytes.IsEmpty)
        {
            bytes = bytes[await SendAsync(bytes, cancellation)..];
        }
    }
}
