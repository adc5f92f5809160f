namespace Millrace.Tls.Handshakes;

/// <summary>What OpenSSL's callbacks need of a client's connection. Nothing throws: the callers are within OpenSSL.</summary>
internal interface IClientHandshake
{
    /// <summary>The server has given a session: true if it is kept.</summary>
    bool TryKeep(nint session);

    /// <summary>OpenSSL refuses the server's certificate; the first reason counts.</summary>
    void Refuse(CertificateRefusal refusal);
}
