using Millrace.Tls.Handshakes;

namespace Millrace.Tls.OpenSsl;

/// <summary>
/// Owns an <c>SSL</c>: the other side of its BIO, and what the library's callbacks act for while a call of it runs on this thread. Nothing
/// that callbacks call throws.
/// </summary>
internal abstract class SslOwner
{
    /// <summary>The one whose OpenSSL call runs on this thread.</summary>
    [field: ThreadStatic]
    public static SslOwner? Current { get; protected set; }

    /// <summary>Null for a client.</summary>
    public abstract IServerHandshake? Server { get; }

    /// <summary>Null for a server.</summary>
    public abstract IClientHandshake? Client { get; }

    /// <summary>OpenSSL reads bytes. Returns the count.</summary>
    public abstract int TakeReceived(Span<byte> destination);

    /// <summary>OpenSSL sends bytes. False when there is no memory for them.</summary>
    public abstract bool TryPut(ReadOnlySpan<byte> bytes);

    /// <summary>An alert that OpenSSL has sent: its level, and in the low byte its description.</summary>
    public virtual void NoteSentAlert(int levelAndDescription)
    {
    }

    /// <summary>A secret of the connection, as a line of a key log.</summary>
    public virtual void TakeSecret(ReadOnlySpan<byte> line)
    {
    }
}
