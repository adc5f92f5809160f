using System.Security.Cryptography;
using Microsoft.Extensions.Logging;
using Millrace.Acme.Protocol;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Renewal;

/// <summary>
/// Obtains one certificate and renews it until it is canceled. Whatever fails is logged and repeated later; the certificate in use stays.
/// Loaded and run by one thread at a time; <see cref="Status"/> is for any.
/// </summary>
internal sealed class CertificateLoop
{
    private static readonly TimeSpan AfterMistake = TimeSpan.FromMinutes(10);
    private readonly LoopContext _context;
    private readonly IReadOnlyList<string> _names;
    private readonly AcmeKeyKinds _kind;
    private readonly CertificateFolder _folder;
    private readonly Action _changed;
    private readonly string _label;
    private StoredCertificate? _certificate;
    private RenewalState _state = new();
    private string? _unattended;
    private volatile LoopStatus _status;

    /// <param name="context">Shared with the other loops.</param>
    /// <param name="request">What is wanted. Its folder has no other loop that runs.</param>
    /// <param name="changed">Called after the certificate was replaced; does not throw.</param>
    public CertificateLoop(LoopContext context, CertificateRequest request, Action changed)
    {
        _context = context;
        _names = request.Names;
        _kind = request.Kind;
        _folder = context.Store.Certificate(request.Folder);
        _changed = changed;
        _label = string.Join(", ", _names) + (_kind == AcmeKeyKinds.Rsa2048 ? " (RSA)" : string.Empty);
        _status = new LoopStatus(new AcmeCertificate { Names = _names, KeyKind = _kind }, IsOwn: false, []);
    }

    /// <summary>The certificate as others see it.</summary>
    public LoopStatus Status => _status;

    /// <summary>Why the certificate is replaced at once, although it is readable; null if it is not.</summary>
    private string? Misfit =>
        _certificate is null ? null
        : !_names.All(_certificate.Names.Contains) ? "it is not for all names"
        : _state.Directory is { } directory && directory != _context.Options.DirectoryUrl ? $"it was issued by {directory.Host}"
        : null;

    /// <summary>Reads the folder. Writes nothing.</summary>
    public void Load()
    {
        DateTimeOffset now = _context.Clock.GetUtcNow();
        _certificate = _folder.ReadCertificate();
        _state = RenewalSchedule.WithoutFuture(_folder.ReadState(), now);
        DateTimeOffset? wanted = _certificate is null || Misfit is not null ? null : RenewalSchedule.Renewal(_certificate, _state);
        Publish(RenewalSchedule.NextAttempt(wanted, _state, now));
    }

    /// <summary>Reads what another process may have written. True: other certificates serve the names.</summary>
    /// <param name="unattended">Why nobody obtains this certificate; null if somebody does.</param>
    public bool Refresh(string? unattended)
    {
        if (unattended is not null && unattended != _unattended)
        {
            _context.Log.Unattended(_label, unattended);
        }

        _unattended = unattended;
        IReadOnlyList<InstalledCertificate> before = _status.InUse;
        Load();
        if (_status is not { Certificate.NotAfter: { } notAfter, InUse: var inUse } || inUse.SequenceEqual(before))
        {
            return false;
        }

        _context.Log.Exchanged(_label, notAfter.UtcDateTime);
        return true;
    }

    /// <summary>Runs until it is canceled, then returns. Counts as one of those that <see cref="LoopWaits"/> knows.</summary>
    public async Task RunAsync(CancellationToken cancel)
    {
        try
        {
            bool isBegun = false;
            while (!cancel.IsCancellationRequested)
            {
                try
                {
                    if (!isBegun)
                    {
                        Begin();
                        isBegun = true;
                    }

                    await StepAsync(cancel);
                }
#pragma warning disable CA1031 // It is a mistake of this program, which must not end the renewal of a certificate.
                catch (Exception e) when (e is not OperationCanceledException || !cancel.IsCancellationRequested)
#pragma warning restore CA1031
                {
                    _context.Log.LoopFailed(e, _label);
                    await _context.Waits.ForAsync(AfterMistake, cancel);
                }
            }
        }
        catch (OperationCanceledException) when (cancel.IsCancellationRequested)
        {
            // The end.
        }
        finally
        {
            _context.Waits.Leave();
        }
    }

    private void Begin()
    {
        // An earlier loop may have written to the folder since this one was made.
        Load();
        FinishInstallation();
        if (Misfit is { } reason)
        {
            _context.Log.CertificateReplaced(_folder.CertificateFile, reason);
        }

        foreach (InstalledCertificate one in _status.InUse.Where(one => one.File != _folder.CertificateFile))
        {
            _context.Log.Substituted(one.File, _label);
        }
    }

    private async Task StepAsync(CancellationToken cancel)
    {
        DateTimeOffset now = _context.Clock.GetUtcNow();
        _state = RenewalSchedule.WithoutFuture(_state, now);
        bool isKept = _certificate is not null && Misfit is null;
        if (isKept && RenewalSchedule.IsAskDue(_state, now))
        {
            await AskAsync(_certificate!, cancel);
            now = _context.Clock.GetUtcNow();
        }

        DateTimeOffset? wanted = isKept ? RenewalSchedule.Renewal(_certificate!, _state) : null;
        DateTimeOffset next = RenewalSchedule.NextAttempt(wanted, _state, now);
        if (next > now)
        {
            Publish(next);
            await _context.Waits.UntilAsync(isKept && _state.AskAgain < next ? _state.AskAgain.Value : next, cancel);
            return;
        }

        Publish(null);
        await AttemptAsync(cancel);
    }

    /// <summary>Asks when the authority wants the certificate renewed. Without an answer the window that is known stays.</summary>
    private async Task AskAsync(StoredCertificate certificate, CancellationToken cancel)
    {
        const int HoursAfterFailure = 6;
        DateTimeOffset now = _context.Clock.GetUtcNow();
        RenewalState before = _state;
        try
        {
            RenewalInfo? info = await _context.Requests.RunAsync(
                client => client.GetRenewalInfoAsync(certificate.Leaf, cancel), cancel);
            _state = _state with
            {
                WindowStart = info?.Start,
                WindowEnd = info?.End,
                AskAgain = RenewalSchedule.AskAgain(now, info?.RetryAfter ?? TimeSpan.MaxValue),
            };
            if (info is not null && (before.WindowStart != info.Start || before.WindowEnd != info.End))
            {
                _context.Log.WindowChanged(
                    _label, info.Start.UtcDateTime, info.End.UtcDateTime, RenewalSchedule.Renewal(certificate, _state).UtcDateTime,
                    info.Explanation is null ? string.Empty : $" It explains why on {info.Explanation.AbsoluteUri}.");
            }
        }
        catch (AcmeException e)
        {
            _context.Log.WindowUnknown(_label, e.Message);
            _state = _state with { AskAgain = RenewalSchedule.AskAgain(now, e.RetryAfter ?? TimeSpan.FromHours(HoursAfterFailure)) };
        }

        WriteState();
    }

    private async Task AttemptAsync(CancellationToken cancel)
    {
        using IDisposable hosts = await _context.Waits.HostsAsync(
            _names.Select(CertificateNames.Host).ToHashSet(StringComparer.Ordinal), cancel);
        long begun = _context.Clock.GetTimestamp();
        var run = new OrderRun(_context, _folder, _names, _kind);
        try
        {
            AcmeAccount account = await _context.Accounts.GetAsync(cancel);
            StoredCertificate certificate;
            try
            {
                certificate = await run.RunAsync(account, _state, _certificate, cancel);
            }
            catch (AcmeException e) when (e.MayBeAboutAccount())
            {
                if (!await _context.Accounts.TryReplaceAsync(account, e, cancel))
                {
                    throw;
                }

                account = await _context.Accounts.GetAsync(cancel);
                run = new OrderRun(_context, _folder, _names, _kind);
                certificate = await run.RunAsync(account, _state, _certificate, cancel);
            }

            Install(certificate, account, run.Proofs, _context.Clock.GetElapsedTime(begun));
        }
        catch (OperationCanceledException) when (cancel.IsCancellationRequested)
        {
            throw;
        }
#pragma warning disable CA1031 // It is logged, and the attempt is repeated: nothing ends the renewal of a certificate.
        catch (Exception e)
#pragma warning restore CA1031
        {
            Fail(e, run);
        }
    }

    private void Install(StoredCertificate certificate, AcmeAccount account, string proofs, TimeSpan elapsed)
    {
        _folder.Install(certificate);
        int early = _certificate is { } replaced && RenewalSchedule.IsEarly(replaced, _context.Clock.GetUtcNow())
            ? Math.Max(_state.EarlyRenewals, 0) + 1
            : 0;
        _certificate = certificate;
        Succeed(_context.Options.DirectoryUrl, account.Url, _names, early);
        DateTimeOffset next = RenewalSchedule.Renewal(certificate, _state);
        _context.Log.Obtained(_label, elapsed.TotalSeconds, proofs, certificate.NotAfter.UtcDateTime, next.UtcDateTime);
        Publish(next);
        _changed();
    }

    /// <summary>A process that was killed may have installed a certificate without having written so.</summary>
    private void FinishInstallation()
    {
        try
        {
            if (_certificate is not null && _folder.ReadOrder() is { } order)
            {
                using CertificateKey key = CertificateKey.FromPem(order.PrivateKey);
                if (_certificate.HasKey(key))
                {
                    Succeed(order.Directory, order.Account, order.Names, _state.EarlyRenewals);
                }
            }
        }
        catch (CryptographicException)
        {
            // The order is not readable, which its next use logs.
        }
    }

    private void Succeed(Uri directory, Uri account, IReadOnlyList<string> names, int earlyRenewals)
    {
        _state = new RenewalState
        {
            Directory = directory,
            Account = account,
            Names = names,
            LastAttempt = _context.Clock.GetUtcNow(),
            EarlyRenewals = earlyRenewals,
            FailedChallenges = _state.FailedChallenges,
        };
        if (WriteState())
        {
            Write(_folder.DeleteOrder);
        }
    }

    private void Fail(Exception failure, OrderRun run)
    {
        string? challenge = run.FailedChallenge;
        DateTimeOffset now = _context.Clock.GetUtcNow();
        int failures = Math.Clamp(_state.Failures, 0, int.MaxValue - 1) + 1;
        DateTimeOffset next = run.HasAnotherChallenge ? now : now + RenewalSchedule.Backoff(failures, failure as AcmeException);
        string reason = failure is AcmeException ? failure.Message : $"{failure.GetType().Name}: {failure.Message}";
        reason = AcmeText.Clean(reason);
        reason = reason.EndsWith('.') ? reason : reason + '.';
        _state = _state with
        {
            LastAttempt = now,
            NextAttempt = next,
            Failures = failures,
            LastError = reason,
            LastErrorType = (failure as AcmeException)?.ErrorType ?? ProblemDocument.Other,
            FailedChallenges = challenge is null
                ? _state.FailedChallenges
                : [.. _state.FailedChallenges.Where(type => type != challenge), challenge],
        };
        WriteState();
        Publish(next);
        StoredCertificate? inUse = _status.InUse.MinBy(static one => one.Certificate.NotAfter)?.Certificate;
        string left = inUse is null ? "There is no certificate yet: a self-signed one is served."
            : inUse.NotAfter <= now ? $"The one in use expired on {inUse.NotAfter:yyyy-MM-dd HH:mm}Z: clients refuse it."
            : $"The one in use is valid for {(inUse.NotAfter - now).TotalDays:0.0} more days.";
        LogLevel level = RenewalSchedule.Level(inUse, now);
        _context.Log.Failed(level, _label, reason, failures, next.UtcDateTime, left);
    }

    private bool WriteState() => Write(() => _folder.WriteState(_state));

    /// <summary>What cannot be written is still known to this process.</summary>
    private bool Write(Action write)
    {
        try
        {
            write();
            return true;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            _context.Log.StateNotWritten(_label, e.Message);
            return false;
        }
    }

    private void Publish(DateTimeOffset? next)
    {
        IReadOnlyList<InstalledCertificate> inUse = FindInUse();
        var certificate = new AcmeCertificate
        {
            Names = _names,
            KeyKind = _kind,
            File = inUse.Count > 0 ? inUse[0].File : null,
            NotAfter = inUse.Min(static one => (DateTimeOffset?)one.Certificate.NotAfter),
            NextRenewal = next,
            LastAttempt = _state.LastAttempt,
            LastError = _unattended ?? _state.LastError,
            LastErrorType = _unattended is null ? _state.LastErrorType : ProblemDocument.Other,
            Failures = _state.Failures,
        };
        _status = new LoopStatus(certificate, certificate.File == _folder.CertificateFile, inUse);
    }

    /// <summary>
    /// Its own certificate, and those of other folders for names that it does not serve. One that has expired is the last resort.
    /// </summary>
    private IReadOnlyList<InstalledCertificate> FindInUse()
    {
        DateTimeOffset now = _context.Clock.GetUtcNow();
        InstalledCertificate[] own = _certificate is null ? [] : [new InstalledCertificate(_folder.CertificateFile, _certificate)];
        bool isValid = _certificate?.NotAfter > now;
        IReadOnlyList<InstalledCertificate> others =
            _context.Store.FindValid([.. _names.Where(name => !isValid || !_certificate!.Covers(name))], now);
        return isValid ? [.. own, .. others] : others.Count > 0 ? others : own;
    }
}

/// <param name="Certificate">As others see it.</param>
/// <param name="IsOwn">Whether the first in use is its own.</param>
/// <param name="InUse">All that serve its names.</param>
internal sealed record LoopStatus(AcmeCertificate Certificate, bool IsOwn, IReadOnlyList<InstalledCertificate> InUse);
