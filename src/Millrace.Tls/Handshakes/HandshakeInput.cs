using Millrace.Tls.Records;

namespace Millrace.Tls.Handshakes;

/// <summary>
/// Handshake bytes that OpenSSL has not got yet: part of a ClientHello or of a record, or input of a deferred step. Its memory is the
/// bytes' size, rounded up; none while it is empty. Reactor thread only.
/// </summary>
internal sealed class HandshakeInput(TlsReactorState reactorState)
{
    /// <summary>A partial hello arrives in two or three pieces: each is copied once or twice.</summary>
    private const int StepBytes = 64;

    /// <summary>More than the messages of a handshake; application data after them may exceed it.</summary>
    private const int BytesMax = ClientHelloInspector.HelloBytesMax * 4;

    /// <summary>The limit on all unfinished hellos of a reactor, beyond <see cref="TlsReactorState.UsualHelloBytes"/> each.</summary>
    private const int LargeHelloBytesMax = 4 * 1024 * 1024;

    private ClientHelloInspector _inspector;
    private bool _hasPassedInspection;
    private byte[]? _bytes;
    private int _count;

    /// <summary>The part of it that is counted in <see cref="TlsReactorState.LargeHelloBytes"/>.</summary>
    private int _largeBytes;

    public bool IsEmpty => _count == 0;

    public int HeldBytes => _bytes?.Length ?? 0;

    public ReadOnlySpan<byte> Bytes => new(_bytes, 0, _count);

    /// <summary>Inspects bytes as they arrive, until they have passed.</summary>
    public ClientHelloResult Inspect(ReadOnlySpan<byte> bytes)
    {
        if (_hasPassedInspection)
        {
            return ClientHelloResult.Passed;
        }

        ClientHelloResult result = _inspector.Inspect(bytes);
        _hasPassedInspection = result == ClientHelloResult.Passed;
        return result;
    }

    public void EndInspection() => _hasPassedInspection = true;

    /// <summary>
    /// Whether these bytes allow a step: only after a whole ClientHello, so that a client which sends less costs no <c>SSL</c>, and only
    /// for whole records, so that OpenSSL keeps no buffer for a partial one.
    /// </summary>
    public bool AllowsStep(ReadOnlySpan<byte> bytes) => (_hasPassedInspection || _inspector.HasWholeHello) && WholeBytes(bytes) > 0;

    /// <summary>A client that does not speak TLS sends no records to wait for.</summary>
    public int WholeBytes(ReadOnlySpan<byte> bytes) =>
        _hasPassedInspection && !_inspector.HasWholeHello ? bytes.Length : RecordCounter.WholeBytes(bytes);

    public bool HasRoomFor(int bytes) => _count + bytes <= BytesMax;

    public void Append(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty)
        {
            return;
        }

        int needed = _count + bytes.Length;
        if (_bytes is null || needed > _bytes.Length)
        {
            // Grows by a quarter, so that bytes that arrive one by one are copied a limited number of times.
            int size = _count == 0 ? needed : Math.Max(needed, _count + (_count / 4));
            Array.Resize(ref _bytes, (size + StepBytes - 1) / StepBytes * StepBytes);
        }

        bytes.CopyTo(_bytes.AsSpan(_count));
        _count = needed;
    }

    /// <summary>Limits the memory of thousands of clients that each send most of a large hello. True beyond the limit.</summary>
    public bool CountLargeHello()
    {
        int large = Math.Max(0, _count - TlsReactorState.UsualHelloBytes);
        reactorState.LargeHelloBytes += large - _largeBytes;
        _largeBytes = large;
        return large > 0 && reactorState.LargeHelloBytes > LargeHelloBytesMax;
    }

    public ReadOnlySpan<byte> Take()
    {
        ReadOnlySpan<byte> bytes = Bytes;
        _bytes = null;
        _count = 0;
        reactorState.LargeHelloBytes -= _largeBytes;
        _largeBytes = 0;
        return bytes;
    }
}
