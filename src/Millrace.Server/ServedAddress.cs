using System.Net;

namespace Millrace.Server;

/// <summary>An address that is listened on.</summary>
/// <param name="Scheme">What is spoken there: http, https.</param>
/// <param name="EndPoint">The address as bound.</param>
/// <param name="Redirects">Whether it sends everybody to HTTPS.</param>
internal sealed record ServedAddress(string Scheme, EndPoint EndPoint, bool Redirects = false)
{
    /// <summary>In one line, for logs.</summary>
    public override string ToString() => ListenAddress.ToUrl(EndPoint, Scheme) + (Redirects ? " (redirects to HTTPS)" : "");
}
