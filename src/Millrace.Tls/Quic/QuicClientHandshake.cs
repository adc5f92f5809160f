using Millrace.Quic.Protection;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>
/// The client's end of a handshake with a <see cref="TlsTarget"/> of a <see cref="TlsClient"/> for QUIC: the server is verified, and its
/// sessions are resumed. One thread.
/// </summary>
internal sealed class QuicClientHandshake(TlsClient client, TlsTarget target, IReadOnlyList<ApplicationProtocol> protocols)
    : OpenSslQuicHandshake(client.Counters, client.Log), IClientHandshake
{
    private ClientContext? _context;
    private CertificateRefusal? _refusal;
    private SelectedProtocolReader _selected;

    protected override bool KeepsSession => true;

    public override void Start(ReadOnlySpan<byte> transportParameters, IHandshakeSink sink)
    {
        base.Start(transportParameters, sink);
        Begin();
        Work(EncryptionLevel.Initial, [], sink);
    }

    public override void Receive(EncryptionLevel level, ReadOnlySpan<byte> bytes, IHandshakeSink sink)
    {
        if (level == EncryptionLevel.Handshake && _selected.TryRead(bytes, out byte[] protocol) && !IsOffered(protocol))
        {
            // RFC 9001, section 8.1: whatever OpenSSL makes of it.
            Refusal = (SslConstants.AlertNoApplicationProtocol, "the server selected a protocol that was not offered");
        }

        base.Receive(level, bytes, sink);
    }

    bool IClientHandshake.TryKeep(nint session) =>
        _context is not null && target.Sessions.TryKeep(session, _context, isCurrent: client.IsCurrent(_context));

    void IClientHandshake.Refuse(CertificateRefusal refusal) => _refusal ??= refusal;

    protected override QuicSsl Create()
    {
        _context = client.Acquire();
        QuicSsl? made = null;
        try
        {
            // It keeps OpenSSL's part of the context.
            made = QuicSsl.Create(this, _context.Handle, isClient: true);
            byte[] offer = [.. protocols.SelectMany(static name => (byte[])[(byte)name.Bytes.Length, .. name.Bytes])];
            if (LibSsl.SSL_set_alpn_protos(made.Handle, offer, (uint)offer.Length) != 0)
            {
                throw new InsufficientMemoryException("OpenSSL has no memory for the names of protocols.");
            }

            target.Prepare(made.Handle, _context);
            return made;
        }
        catch
        {
            made?.Dispose();
            throw;
        }
        finally
        {
            _context.Release();
        }
    }

    /// <summary>OpenSSL 3.0 does not compare the server's choice with the offer.</summary>
    protected override int Confirm(ReadOnlySpan<byte> protocol) => IsOffered(protocol) ? 0 : SslConstants.AlertNoApplicationProtocol;

    protected override string DescribeFailure(OpenSslFailure failure) =>
        _refusal?.Describe(target) ?? ServerRefusal.Describe(target, failure);

    private bool IsOffered(ReadOnlySpan<byte> protocol)
    {
        foreach (ApplicationProtocol offered in protocols)
        {
            if (offered.Bytes.SequenceEqual(protocol))
            {
                return true;
            }
        }

        return false;
    }
}
