namespace Millrace.Acme.Protocol;

/// <summary>When the authority wants a certificate to be renewed (RFC 9773, section 4.2). Immutable.</summary>
/// <param name="Start">The begin of the suggested window.</param>
/// <param name="End">The end of the suggested window.</param>
/// <param name="Explanation">A page for people; null for none.</param>
/// <param name="RetryAfter">When to ask again.</param>
internal sealed record RenewalInfo(DateTimeOffset Start, DateTimeOffset End, Uri? Explanation, TimeSpan RetryAfter);
