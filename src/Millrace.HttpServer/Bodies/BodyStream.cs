namespace Millrace.HttpServer.Bodies;

/// <summary>
/// A response body that is produced while it is sent: an upstream's, an archive's. Its session takes bytes as the client takes them; the
/// producer keeps a bounded number of bytes and pauses beyond it. Owned by the session from its beginning to <see cref="Release"/>. Reactor
/// thread only.
/// </summary>
internal abstract class BodyStream
{
    /// <summary>Bytes that can be sent now. Valid until <see cref="Consume"/>, or until the producer runs again.</summary>
    public abstract ReadOnlySpan<byte> Available { get; }

    public abstract BodyStreamState State { get; }

    /// <summary>How many bytes follow, if the producer has promised it; otherwise -1.</summary>
    public abstract long RemainingBytes { get; }

    /// <summary>The fields after the body, as lines of HTTP/1.1 without the empty line; valid when the body is complete.</summary>
    public virtual ReadOnlySpan<byte> TrailerLines => default;

    /// <summary>Called on the reactor when <see cref="Available"/> or <see cref="State"/> has changed.</summary>
    public Action? Progressed { get; set; }

    /// <summary>Takes bytes from the front of <see cref="Available"/>; the producer may continue.</summary>
    public abstract void Consume(int count);

    /// <summary>Ends the use, also before the end of the body. A second call has no effect.</summary>
    public abstract void Release();
}

/// <summary>How far a <see cref="BodyStream"/> is.</summary>
internal enum BodyStreamState : byte
{
    /// <summary>More bytes may come.</summary>
    Open,

    /// <summary>What is available is the rest.</summary>
    Complete,

    /// <summary>The rest is lost: the response must not look whole.</summary>
    Failed,
}
