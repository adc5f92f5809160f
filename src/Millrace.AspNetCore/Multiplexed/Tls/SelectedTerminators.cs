using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Https;
using Millrace.Tls;
using Millrace.Tls.Quic;

namespace Millrace.AspNetCore.Multiplexed.Tls;

/// <summary>A handshake with the certificate that was chosen, and the check of the client's, if that is asked for.</summary>
internal sealed record SelectedHandshake(QuicServerHandshake Handshake, Func<ConnectionTls, bool>? Check);

/// <summary>
/// A terminator for each certificate that an endpoint's callback has chosen: loading a key is slow, and a terminator's ticket keys let
/// clients resume. Any thread.
/// </summary>
internal sealed class SelectedTerminators(IReadOnlyList<SslApplicationProtocol> protocols, ILoggerFactory logs) : IDisposable
{
    /// <summary>
    /// Some 50 KB each. When there are more, all are dropped: the application serves very many hosts, or has renewed its certificates.
    /// </summary>
    private const int TerminatorsMax = 256;

    private readonly Lock _lock = new();
    private readonly Dictionary<string, Entry> _entries = new(StringComparer.Ordinal);
    private bool _isDisposed;

    /// <summary>Begins a handshake with these options, which the caller owns.</summary>
    /// <exception cref="TlsException">The certificate cannot be used; the message says why.</exception>
    public SelectedHandshake Begin(SslServerAuthenticationOptions options, string host)
    {
        (X509Certificate2 certificate, IReadOnlyList<X509Certificate2>? chain) = CertificateOf(options, host);
        string key = $"{options.ClientCertificateRequired} {certificate.GetCertHashString(HashAlgorithmName.SHA256)}";
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            if (!_entries.TryGetValue(key, out Entry? entry))
            {
                if (_entries.Count >= TerminatorsMax)
                {
                    DropAll();
                }

                entry = Create(options, certificate, chain);
                _entries.Add(key, entry);
            }

            Func<ConnectionTls, bool>? check = entry.Check is { } one ? tls => one.Admits(tls, options) : null;
            return new SelectedHandshake(entry.Terminator.AcceptQuic(), check);
        }
    }

    public void Dispose()
    {
        lock (_lock)
        {
            _isDisposed = true;
            DropAll();
        }
    }

    /// <summary>In SslStream's order. The chain is null where it is to be built.</summary>
    private static (X509Certificate2 Certificate, IReadOnlyList<X509Certificate2>? Chain) CertificateOf(
        SslServerAuthenticationOptions options, string host)
    {
        if (options.ServerCertificateContext is { } context)
        {
            return (context.TargetCertificate, context.IntermediateCertificates);
        }

        X509Certificate? chosen = options.ServerCertificateSelectionCallback?.Invoke(options, host) ?? options.ServerCertificate;
        return chosen is X509Certificate2 certificate
            ? (certificate, null)
            : throw new TlsException("the endpoint has none");
    }

    private Entry Create(
        SslServerAuthenticationOptions options, X509Certificate2 certificate, IReadOnlyList<X509Certificate2>? chain)
    {
        chain ??= SslStreamCertificateContext.Create(certificate, additionalCertificates: null, offline: true).IntermediateCertificates;
        IEnumerable<SslApplicationProtocol> names = options.ApplicationProtocols ?? (IEnumerable<SslApplicationProtocol>)protocols;
        var terminator = TlsTerminator.Create(
            new TlsOptions
            {
                Certificates = [new LoadedCertificate(certificate, chain)],
                ApplicationProtocols = [.. names.Select(static name => name.ToString())],
                MinimumVersion = TlsVersion.Tls13,
                ClientCertificates = options.ClientCertificateRequired ? ClientCertificates.Optional : ClientCertificates.None,
                ServesQuic = true,
            },
            logs);
        return new Entry(terminator, options.ClientCertificateRequired ? new CallbackCertificateCheck() : null);
    }

    private void DropAll()
    {
        foreach (Entry entry in _entries.Values)
        {
            // Its handshakes and connections hold what they need.
            entry.Terminator.Dispose();
        }

        _entries.Clear();
    }

    private sealed record Entry(TlsTerminator Terminator, CallbackCertificateCheck? Check);
}
