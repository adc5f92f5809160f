using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https.Kit;

/// <summary>Who terminates TLS. Kestrel's UseHttps over the sockets transport is the control: what it does not pass is no contract.</summary>
public enum HttpsKind
{
    Kestrel,
    Millrace,
    MillraceOnThePool,
}

/// <summary>A test of what HTTPS owes: it runs with each that terminates it.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class EachHttpsAttribute() : EachKindAttribute<HttpsKind>(HttpsKind.Millrace);

internal static class HttpsKinds
{
    public static TransportKind Transport(this HttpsKind kind) => kind switch
    {
        HttpsKind.Kestrel => TransportKind.Sockets,
        HttpsKind.Millrace => TransportKind.Millrace,
        HttpsKind.MillraceOnThePool => TransportKind.MillraceOnThePool,
        _ => throw new ArgumentOutOfRangeException(nameof(kind), kind, "Nobody does that."),
    };
}
