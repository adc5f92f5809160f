using System.Net;

namespace Millrace.Server;

/// <summary>An address that the server listens on.</summary>
/// <param name="Scheme">The scheme: http or https.</param>
/// <param name="EndPoint">The address as bound.</param>
/// <param name="Redirects">Whether it redirects to HTTPS.</param>
internal sealed record ServedAddress(string Scheme, EndPoint EndPoint, bool Redirects = false)
{
    /// <summary>One line for logs.</summary>
    public override string ToString() => ListenAddress.ToUrl(EndPoint, Scheme) + (Redirects ? " (redirects to HTTPS)" : "");
}
