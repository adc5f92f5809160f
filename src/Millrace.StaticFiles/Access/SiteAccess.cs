using System.Net;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Decides who may see which paths: by the client's address, by a password, by a service. Owns the password files, each opened once.
/// Callable on any thread; a decision allocates nothing.
/// </summary>
internal sealed class SiteAccess : IDisposable
{
    /// <summary>Everybody may see everything.</summary>
    public static readonly SiteAccess Everybody = new([], [], [], [], []);

    private readonly (AccessPattern Pattern, ClientNetworks Clients)[] _denied;
    private readonly (AccessPattern Pattern, ClientNetworks Clients)[] _allowed;
    private readonly (AccessPattern Pattern, BasicAuthentication? Verifier)[] _passwords;
    private readonly (AccessPattern Pattern, ForwardAuthRule Rule)[] _services;
    private readonly BasicAuthentication[] _verifiers;

    /// <summary>The password files that had no users when they were opened.</summary>
    public IReadOnlyList<string> FilesWithoutUsers { get; private init; } = [];

    /// <summary>Whether a rule is not for all paths, so that they must be read.</summary>
    private readonly bool _hasPaths;

    private SiteAccess(
        (AccessPattern Pattern, ClientNetworks Clients)[] denied,
        (AccessPattern Pattern, ClientNetworks Clients)[] allowed,
        (AccessPattern Pattern, BasicAuthentication? Verifier)[] passwords,
        (AccessPattern Pattern, ForwardAuthRule Rule)[] services,
        BasicAuthentication[] verifiers)
    {
        (_denied, _allowed, _passwords, _services, _verifiers) = (denied, allowed, passwords, services, verifiers);
        IEnumerable<AccessPattern> patterns =
        [
            .. denied.Select(static rule => rule.Pattern),
            .. allowed.Select(static rule => rule.Pattern),
            .. passwords.Select(static rule => rule.Pattern),
            .. services.Select(static rule => rule.Pattern),
        ];
        IsEmpty = !patterns.Any();
        _hasPaths = patterns.Any(static pattern => !pattern.IsForAll);
    }

    /// <summary>Whether everybody may see everything.</summary>
    public bool IsEmpty { get; }

    /// <summary>Whether some path needs a password, so that requests need their Authorization field.</summary>
    public bool HasPasswords => _verifiers.Length > 0;

    /// <summary>Whether some path is for some clients only, so that requests need the client's address.</summary>
    public bool HasClients => _denied.Length + _allowed.Length > 0;

    /// <summary>
    /// Opens the password files. Throws <see cref="SiteException"/> if one cannot be used, or a rule is not valid. Reports why a file that
    /// changed later is not used.
    /// </summary>
    public static SiteAccess Open(SiteOptions options, Action<SiteException>? onRefused = null)
    {
        var files = new Dictionary<string, BasicAuthentication>(StringComparer.Ordinal);
        try
        {
            var passwords = new List<(AccessPattern, BasicAuthentication?)>();
            foreach (PasswordRule rule in options.AllPasswordRules)
            {
                passwords.Add((AccessPattern.Parse(rule.Pattern), rule.PasswordFile is string file ? Verifier(file) : null));
            }

            return new SiteAccess(
                Compile(options.DeniedClients),
                Compile(options.AllowedClients),
                [.. passwords],
                [.. options.ForwardAuth.Select(static rule => (AccessPattern.Parse(rule.Pattern), rule))],
                [.. files.Values])
            {
                FilesWithoutUsers = [.. files.Where(static file => file.Value.IsEmpty).Select(static file => file.Key)],
            };
        }
        catch
        {
            foreach (BasicAuthentication opened in files.Values)
            {
                opened.Dispose();
            }

            throw;
        }

        BasicAuthentication Verifier(string file)
        {
            if (!files.TryGetValue(file, out BasicAuthentication? verifier))
            {
                verifier = BasicAuthentication.Open(file, options.Realm, onRefused);
                files.Add(file, verifier);
            }

            return verifier;
        }
    }

    /// <summary>Throws <see cref="SiteException"/> for a rule that is not valid.</summary>
    public static void Check(SiteOptions options)
    {
        _ = Compile(options.DeniedClients);
        _ = Compile(options.AllowedClients);
        foreach (string pattern in options.PasswordRules.Select(static rule => rule.Pattern)
            .Concat(options.ForwardAuth.Select(static rule => rule.Pattern)))
        {
            _ = AccessPattern.Parse(pattern);
        }
    }

    /// <summary>Throws if a password file is inside the site's root. It is not served even then.</summary>
    public void RequireUnserved(CatalogSnapshot site)
    {
        foreach (BasicAuthentication verifier in _verifiers)
        {
            verifier.RequireUnserved(site);
        }
    }

    /// <summary>
    /// Decides for a path: first addresses, then passwords, then services. A path that is reached under another one (an index, the target
    /// of a rewrite) is decided on by itself, in addition.
    /// </summary>
    public AccessOutcome Decide(scoped in PlanRequest request, scoped ReadOnlySpan<byte> path, PlanScratch scratch)
    {
        if (IsEmpty || request.IsInternal)
        {
            return AccessOutcome.Granted;
        }

        PathReadings readings = _hasPaths ? new PathReadings(path, scratch) : default;
        return !IsAllowed(request.Client, readings) ? new AccessOutcome(AccessDecision.Forbidden)
            : DecideByPassword(request, readings) is { Decision: not AccessDecision.Granted } outcome ? outcome
            : DecideByService(request, readings);
    }

    /// <summary>Whether not everybody may see a path, so that shared caches must not store it.</summary>
    public bool Restricts(scoped ReadOnlySpan<byte> path, PlanScratch scratch)
    {
        if (IsEmpty)
        {
            return false;
        }

        PathReadings readings = _hasPaths ? new PathReadings(path, scratch) : default;
        for (int i = 0; i < PathReadings.Count; i++)
        {
            if (FirstFor(_denied, readings, i) >= 0
                || (FirstFor(_allowed, readings, i) is >= 0 and var allowed && !_allowed[allowed].Clients.IsAll)
                || (FirstFor(_passwords, readings, i) is >= 0 and var password && _passwords[password].Verifier is not null)
                || AsksService(readings, i))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Adds what decides whether a client may see a path, other than services: all of it must grant the path.</summary>
    public void AddNeeds(scoped ReadOnlySpan<byte> path, PlanScratch scratch, ISet<object> needs)
    {
        PathReadings readings = _hasPaths ? new PathReadings(path, scratch) : default;
        for (int i = 0; i < PathReadings.Count; i++)
        {
            foreach ((AccessPattern pattern, ClientNetworks clients) in _denied)
            {
                if (pattern.Covers(readings, i))
                {
                    needs.Add(clients);
                }
            }

            if (FirstFor(_allowed, readings, i) is >= 0 and var allowed)
            {
                needs.Add(_allowed[allowed].Clients);
            }

            if (FirstFor(_passwords, readings, i) is >= 0 and var password && _passwords[password].Verifier is { } verifier)
            {
                needs.Add(verifier);
            }
        }
    }

    /// <summary>Whether a service decides on a path.</summary>
    public bool AsksService(scoped ReadOnlySpan<byte> path, PlanScratch scratch)
    {
        if (_services.Length == 0)
        {
            return false;
        }

        PathReadings readings = _hasPaths ? new PathReadings(path, scratch) : default;
        for (int i = 0; i < PathReadings.Count; i++)
        {
            if (AsksService(readings, i))
            {
                return true;
            }
        }

        return false;
    }

    public void Dispose()
    {
        foreach (BasicAuthentication verifier in _verifiers)
        {
            verifier.Dispose();
        }
    }

    /// <summary>
    /// No matching rule denies the client, and the first one that allows somebody allows it: where some are allowed, the others are not.
    /// </summary>
    private bool IsAllowed(IPAddress? client, scoped in PathReadings readings)
    {
        if (!HasClients)
        {
            return true;
        }

        for (int i = 0; i < PathReadings.Count; i++)
        {
            foreach ((AccessPattern pattern, ClientNetworks clients) in _denied)
            {
                if (pattern.Covers(readings, i) && clients.Contains(client))
                {
                    return false;
                }
            }

            if (FirstFor(_allowed, readings, i) is >= 0 and var first && !_allowed[first].Clients.Contains(client))
            {
                return false;
            }
        }

        return true;
    }

    private AccessOutcome DecideByPassword(scoped in PlanRequest request, scoped in PathReadings readings)
    {
        BasicAuthentication? granted = null;
        for (int i = 0; i < PathReadings.Count && HasPasswords; i++)
        {
            int first = FirstFor(_passwords, readings, i);
            if (first < 0 || _passwords[first].Verifier is not { } verifier || verifier == granted)
            {
                continue;
            }

            AccessDecision decision =
                request.Verified.Verifier == verifier ? request.Verified.Decision : verifier.Decide(request.Authorization);
            if (decision != AccessDecision.Granted)
            {
                return new AccessOutcome(decision) { Verifier = verifier };
            }

            granted = verifier;
        }

        return AccessOutcome.Granted;
    }

    private AccessOutcome DecideByService(scoped in PlanRequest request, scoped in PathReadings readings)
    {
        for (int i = 0; i < PathReadings.Count && _services.Length > 0; i++)
        {
            if (FirstFor(_services, readings, i) is >= 0 and var first
                && _services[first].Rule is { Url: not null } rule
                && !request.Authorized.Contains(rule))
            {
                return new AccessOutcome(AccessDecision.Unverified) { ForwardAuth = rule };
            }
        }

        return AccessOutcome.Granted;
    }

    private bool AsksService(scoped in PathReadings readings, int index) =>
        FirstFor(_services, readings, index) is >= 0 and var service && _services[service].Rule.Url is not null;

    private static int FirstFor<T>((AccessPattern Pattern, T Value)[] rules, scoped in PathReadings readings, int index)
    {
        for (int i = 0; i < rules.Length; i++)
        {
            if (rules[i].Pattern.Covers(readings, index))
            {
                return i;
            }
        }

        return -1;
    }

    private static (AccessPattern Pattern, ClientNetworks Clients)[] Compile(IReadOnlyList<ClientRule> rules) =>
        [.. rules.Select(static rule => (AccessPattern.Parse(rule.Pattern), ClientNetworks.Parse(rule.Clients)))];
}

/// <summary>What the rules about access decide for a request.</summary>
internal readonly record struct AccessOutcome(AccessDecision Decision)
{
    public static AccessOutcome Granted => new(AccessDecision.Granted);

    /// <summary>What verifies the credentials, if they decide.</summary>
    public BasicAuthentication? Verifier { get; init; }

    /// <summary>The rule whose service must be asked.</summary>
    public ForwardAuthRule? ForwardAuth { get; init; }
}

/// <summary>The result of verifying a request's credentials, and what has verified them.</summary>
internal readonly record struct AuthenticationResult(BasicAuthentication? Verifier, AccessDecision Decision);
