using Millrace.Quic.Connections;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>
/// What the server received from each address and sent to it. Until somebody at the address has answered to something that was sent to it,
/// the server must not send more than three times what it received from there (RFC 9000, section 8).
/// </summary>
internal sealed class AmplificationLedger
{
    private readonly Dictionary<PathAddress, Account> _accounts = [];

    /// <summary>What was wrong first.</summary>
    public string? Fault { get; private set; }

    public void OnReceived(in PathAddress from, int length, in PathAddress? proven)
    {
        Of(from).Received += length;
        if (proven is { } address)
        {
            Of(address).IsProven = true;
        }
    }

    public void OnSent(in PathAddress to, int length)
    {
        Account account = Of(to);
        account.Sent += length;
        if (!account.IsProven && account.Sent > 3 * account.Received)
        {
            Fault ??= $"{account.Sent} bytes were sent to {to}, from which {account.Received} came, and nothing that proves the address";
        }
    }

    /// <summary>The address is known from an earlier connection, by a token.</summary>
    public void Exempt(in PathAddress address) => Of(address).IsProven = true;

    private Account Of(in PathAddress address)
    {
        if (!_accounts.TryGetValue(address, out Account? account))
        {
            _accounts[address] = account = new Account();
        }

        return account;
    }

    private sealed class Account
    {
        public long Received { get; set; }

        public long Sent { get; set; }

        public bool IsProven { get; set; }
    }
}
