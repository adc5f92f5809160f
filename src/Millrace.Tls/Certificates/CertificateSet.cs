namespace Millrace.Tls.Certificates;

/// <summary>
/// The certificates in use at one time, by name. Immutable and reference-counted: held by the store and by each handshake that may choose
/// from it; the last holder frees it. Any thread.
/// </summary>
internal sealed class CertificateSet
{
    private readonly IReadOnlyList<ServerContext> _contexts;
    private readonly Dictionary<string, ServerContext> _hosts = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<string, ServerContext> _parents = new(StringComparer.OrdinalIgnoreCase);
    private ReferenceCount _holders = new();

    /// <summary>The first context is the default. Calls back for each name that an earlier certificate has.</summary>
    public CertificateSet(
        IReadOnlyList<ServerContext> contexts,
        IReadOnlyList<(string Source, CertificateFacts Facts)> loaded,
        Action<ServerContext, string> onNameTaken)
    {
        _contexts = contexts;
        Loaded = loaded;
        foreach (ServerContext context in contexts)
        {
            foreach (string name in context.Names)
            {
                bool isWildcard = name.StartsWith("*.", StringComparison.Ordinal);
                if (!(isWildcard ? _parents.TryAdd(name[2..], context) : _hosts.TryAdd(name, context)))
                {
                    onNameTaken(context, name);
                }
            }
        }
    }

    public IReadOnlyList<(string Source, CertificateFacts Facts)> Loaded { get; }

    public ServerContext Default => _contexts[0];

    public IEnumerable<string> Names => _contexts.SelectMany(static context => context.Names).Distinct(StringComparer.OrdinalIgnoreCase);

    /// <summary>
    /// The certificate for a host: one with its name, or with a wildcard for its first label (RFC 6125, section 6.4.3); null for none.
    /// </summary>
    public ServerContext? Find(ReadOnlySpan<char> host)
    {
        host = host.TrimEnd('.');
        if (_hosts.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(host, out ServerContext? context))
        {
            return context;
        }

        int dot = host.IndexOf('.');
        return dot > 0 && _parents.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(host[(dot + 1)..], out context) ? context : null;
    }

    public bool TryHold() => _holders.TryHold();

    public void Release()
    {
        if (_holders.IsLastToRelease())
        {
            foreach (ServerContext context in _contexts)
            {
                context.Dispose();
            }
        }
    }
}
