namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>What moves Kestrel's bytes. The sockets transport is the control: what it does not pass is no contract.</summary>
public enum TransportKind
{
    Sockets,
    Millrace,
    MillraceOnThePool,
}
