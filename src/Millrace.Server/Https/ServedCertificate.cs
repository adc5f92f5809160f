using System.Globalization;
using Millrace.Server.Terminal;
using Millrace.Tls.Certificates;

namespace Millrace.Server.Https;

/// <summary>A certificate in use: where it is from, for which hosts, and until when. Immutable.</summary>
/// <param name="File">The file.</param>
/// <param name="Names">The hosts and addresses that it covers.</param>
/// <param name="Expiry">The end of its validity, in UTC.</param>
/// <param name="Start">The begin of its validity, in UTC.</param>
/// <param name="Origin">Who renews it.</param>
internal sealed record ServedCertificate(
    string File, IReadOnlyList<string> Names, DateTimeOffset Expiry, DateTimeOffset Start = default, CertificateOrigin Origin = default)
{
    /// <summary>Renewals are due 30 days before the expiry of a certificate of 90 days: with fewer than this, one has failed.</summary>
    public const int RenewDays = 14;

    public string Hosts => Names.Count == 0 ? "no host" : string.Join(", ", Names);

    public string Date => IsoDate(Expiry);

    /// <summary>What an operator does when it is due.</summary>
    public string Remedy => Origin switch
    {
        CertificateOrigin.Local => "Send SIGHUP to make a new one.",
        CertificateOrigin.Authority => "It should have been renewed by now: the log and /readyz say why not.",
        _ => "Renew it, then send SIGHUP.",
    };

    public bool IsLocal => Origin == CertificateOrigin.Local;

    /// <summary>Authorities advise to renew when a third is left: with less than a quarter, renewals have failed.</summary>
    private TimeSpan DueWithin => Origin == CertificateOrigin.Authority ? (Expiry - Start) / 4 : TimeSpan.FromDays(RenewDays);

    /// <summary>Whether so few days are a reason to warn: not if it is renewed later than that anyway.</summary>
    public bool IsWarnedAt(int days) => Origin != CertificateOrigin.Authority || TimeSpan.FromDays(days) <= DueWithin;

    public static ServedCertificate Of(string file, CertificateFacts facts, CertificateOrigin origin) => new(
        file,
        [.. facts.Names.Distinct(), .. facts.Addresses.Select(static address => address.ToString())],
        new DateTimeOffset(facts.NotAfter).ToUniversalTime(),
        new DateTimeOffset(facts.NotBefore).ToUniversalTime(),
        origin);

    public CertificateState StateAt(DateTimeOffset now) =>
        Expiry <= now ? CertificateState.Expired
        : now < Start ? CertificateState.Early
        : Expiry - now < DueWithin ? CertificateState.Due
        : CertificateState.Valid;

    /// <summary>The validity in a clause: "is valid until 2026-03-01 (94 days)".</summary>
    public string Validity(DateTimeOffset now) => StateAt(now) switch
    {
        CertificateState.Expired => $"expired on {Date}",
        CertificateState.Early => $"is not valid before {IsoDate(Start)}",
        _ => $"is valid until {Date} ({DaysLeft(now)})",
    };

    /// <summary>The days until the expiry; a day that has begun counts.</summary>
    public string DaysLeft(DateTimeOffset now) => Counted.Of((long)Math.Ceiling((Expiry - now).TotalDays), "day");

    private static string IsoDate(DateTimeOffset time) => time.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture);
}

/// <summary>Where a certificate is from, and who renews it.</summary>
internal enum CertificateOrigin
{
    /// <summary>Files that the operator gives and renews.</summary>
    Files,

    /// <summary>Made and renewed by this program; signed by itself.</summary>
    Local,

    /// <summary>Obtained from a certificate authority and renewed by this program.</summary>
    Authority,
}

/// <summary>What a certificate is worth at a time. Clients refuse the last two.</summary>
internal enum CertificateState
{
    Valid,

    /// <summary>Valid, and to be renewed now.</summary>
    Due,

    /// <summary>Not valid yet.</summary>
    Early,

    Expired,
}
