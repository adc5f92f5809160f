using Microsoft.Extensions.Logging;

namespace Millrace.Acme;

/// <summary>The ways to prove control over a name that a server can answer.</summary>
[Flags]
public enum AcmeChallengeTypes
{
    /// <summary>None.</summary>
    None = 0,

    /// <summary>A file on the plain port 80 (RFC 8555, section 8.3).</summary>
    Http01 = 1,

    /// <summary>A handshake on port 443 (RFC 8737).</summary>
    TlsAlpn01 = 2,
}

/// <summary>
/// Obtains certificates and renews them until it is disposed of. It never blocks its callers on the network or the disk, except its
/// constructor, which reads the folder. Any thread.
/// </summary>
public sealed class AcmeManager : IAsyncDisposable
{
    /// <param name="options">What to obtain.</param>
    /// <param name="answered">The challenges that the caller answers from <see cref="Challenges"/>. DNS-01 is by <see cref="AcmeOptions.DnsHook"/>.</param>
    /// <param name="changed">Called on the thread pool after a certificate's file was replaced, or first written.</param>
    /// <param name="logging">Receives what happens.</param>
    /// <param name="clock">The time, and all waits.</param>
    /// <exception cref="AcmeConfigurationException">The options or the folder cannot be used; the message names the remedy.</exception>
    public AcmeManager(
        AcmeOptions options, AcmeChallengeTypes answered, Action changed, ILoggerFactory logging, TimeProvider? clock = null)
    {
    }

    /// <summary>Checks the options without the network and without writing: names, files of roots, the hook.</summary>
    /// <exception cref="AcmeConfigurationException">They cannot be used; the message names the remedy.</exception>
    public static void Check(AcmeOptions options)
    {
    }

    /// <summary>The challenges that are open now.</summary>
    public ChallengeTable Challenges { get; } = new();

    /// <summary>All certificates, in the order of the options, one for each kind of key. Replaced as a whole.</summary>
    public IReadOnlyList<AcmeCertificate> Certificates { get; } = [];

    /// <summary>Whether another process obtains the certificates of this folder, and this one only reads them.</summary>
    public bool IsReader { get; }

    /// <summary>Begins to obtain what is missing and to renew what is due. Once.</summary>
    public void Start() => _ = Challenges;

    /// <summary>Stops. An order that is under way is continued by the next process.</summary>
    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}

/// <summary>Options or a folder that cannot be used. The message names the cause and the remedy.</summary>
public sealed class AcmeConfigurationException(string message, Exception? cause = null) : Exception(message, cause);
