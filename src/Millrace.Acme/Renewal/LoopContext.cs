using Millrace.Acme.Challenges;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Renewal;

/// <summary>What the loops of all certificates share. Immutable; its owner is the manager.</summary>
internal sealed record LoopContext(
    AcmeOptions Options,
    AcmeStore Store,
    AcmeRequests Requests,
    AccountKeeper Accounts,
    ChallengeResponder Responder,
    LoopWaits Waits,
    Polling Polling,
    TimeProvider Clock,
    AcmeLog Log);
