using Microsoft.AspNetCore.Connections;

namespace Millrace.AspNetCore.Connecting;

/// <summary>
/// A connection as a stream. A read returns available bytes; a write sends its bytes at once; disposal closes the connection in order,
/// after everything written. Supports one read and one write at a time.
/// </summary>
internal sealed class ConnectionStream(ConnectionContext connection) : Stream
{
    private readonly Stream _input = connection.Transport.Input.AsStream(leaveOpen: true);
    private readonly Stream _output = connection.Transport.Output.AsStream(leaveOpen: true);

    private Task? _ending;

    public override bool CanRead => true;

    public override bool CanWrite => true;

    public override bool CanSeek => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        _input.ReadAsync(buffer, cancellationToken);

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        _input.ReadAsync(buffer, offset, count, cancellationToken);

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) =>
        _output.WriteAsync(buffer, cancellationToken);

    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        _output.WriteAsync(buffer, offset, count, cancellationToken);

    public override Task FlushAsync(CancellationToken cancellationToken) => _output.FlushAsync(cancellationToken);

    /// <summary>Does nothing: no written bytes are buffered.</summary>
    public override void Flush()
    {
    }

    /// <summary>Blocks its thread, which on a reactor may be the one that would receive the bytes.</summary>
    public override int Read(byte[] buffer, int offset, int count) => _input.Read(buffer, offset, count);

    /// <inheritdoc cref="Read(byte[], int, int)"/>
    public override void Write(byte[] buffer, int offset, int count) => _output.Write(buffer, offset, count);

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    public override async ValueTask DisposeAsync()
    {
        await EndAsync();
        await base.DisposeAsync();
    }

    /// <summary>Does not wait for the connection's end, which its reactor completes.</summary>
    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _ = EndAsync();
        }

        base.Dispose(disposing);
    }

    private Task EndAsync()
    {
        if (_ending is null)
        {
            // A pending read ends at once, not only when the peer has ended too.
            connection.Transport.Input.CancelPendingRead();
            _ending = connection.DisposeAsync().AsTask();
        }

        return _ending;
    }
}
