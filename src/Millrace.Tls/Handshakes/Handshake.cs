using Millrace.Tls.Certificates;

namespace Millrace.Tls.Handshakes;

/// <summary>What a connection holds until its handshake is complete or has failed. Reactor thread only.</summary>
internal sealed class Handshake
{
    private readonly TlsServerFilter _filter;
    private readonly TlsTerminator _terminator;
    private readonly HalfOpenHandshakes _halfOpen;
    private readonly HandshakeScheduler _scheduler;
    private LinkedListNode<TlsServerFilter>? _halfOpenNode;

    public Handshake(TlsServerFilter filter, TlsTerminator terminator, TlsReactorState reactorState)
    {
        _filter = filter;
        _terminator = terminator;
        _halfOpen = reactorState.HalfOpen;
        _scheduler = reactorState.Scheduler;
        Input = new HandshakeInput(reactorState);
        HasQuota = terminator.Quota?.TryTake() != false;
    }

    public HandshakeInput Input { get; }

    /// <summary>The certificates to choose from, from the ClientHello on.</summary>
    public CertificateSet? Certificates { get; private set; }

    /// <summary>Whether there was room for the connection. After the handshake the server of the connection counts it.</summary>
    public bool HasQuota { get; private set; }

    public bool IsDeferred { get; set; }

    /// <summary>Whether the client is an authority that validates a domain, and is served nothing else.</summary>
    public bool IsDomainValidation { get; set; }

    /// <summary>The certificate for such a client, null for none; null before it is sought.</summary>
    public Task<LoadedCertificate?>? Challenge { get; set; }

    /// <summary>Why the ClientHello is refused; null where OpenSSL says why.</summary>
    public string? Refusal { get; set; }

    /// <summary>Whether the peer's end has arrived while the step was deferred.</summary>
    public bool HasInputEnded { get; set; }

    public bool IsEvicted { get; set; }

    public string ReasonForDeadline => !HasQuota ? "the limit on connections is reached"
        : IsEvicted ? "its client has too many unfinished handshakes"
        : "it was not completed in time";

    /// <summary>The ClientHello has arrived. Returns the certificate to begin with.</summary>
    public ServerContext Begin()
    {
        Certificates = _terminator.Certificates.Acquire();
        return Certificates.Default;
    }

    /// <summary>Makes another step when a task is complete, on whatever thread it is.</summary>
    public void ContinueAfter(Task task) =>
        _ = task.ContinueWith(_ => _scheduler.Resume(_filter), CancellationToken.None, TaskContinuationOptions.None, TaskScheduler.Default);

    public void EnterHalfOpen() => _halfOpenNode = _halfOpen.Add(_filter);

    /// <summary>Frees all but the quota: a failed connection counts until it is closed.</summary>
    public void Drop()
    {
        Input.Take();
        Certificates?.Release();
        Certificates = null;
        if (_halfOpenNode is not null)
        {
            _halfOpen.Remove(_halfOpenNode);
            _halfOpenNode = null;
        }
    }

    public void End()
    {
        Drop();
        if (HasQuota)
        {
            _terminator.Quota?.Return();
            HasQuota = false;
        }
    }
}
