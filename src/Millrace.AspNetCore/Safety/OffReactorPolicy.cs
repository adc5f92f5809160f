using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Routing.Matching;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Leaves the reactor for endpoints marked with <see cref="RunOffReactorAttribute"/>, as part of matching: routes without such an endpoint
/// are matched without this policy, at no cost.
/// </summary>
internal sealed class OffReactorPolicy : MatcherPolicy, IEndpointSelectorPolicy
{
    /// <summary>Last: the other policies have removed the candidates that do not match.</summary>
    public override int Order => int.MaxValue;

    public bool AppliesToEndpoints(IReadOnlyList<Endpoint> endpoints)
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        return ContainsDynamicEndpoints(endpoints) || endpoints.Any(IsMarked);
    }

    public async Task ApplyAsync(HttpContext httpContext, CandidateSet candidates)
    {
        ArgumentNullException.ThrowIfNull(httpContext);
        ArgumentNullException.ThrowIfNull(candidates);
        if (IsBestMarked(candidates))
        {
            await httpContext.LeaveReactor();
        }
    }

    /// <summary>Candidates are sorted; the first valid one is chosen.</summary>
    private static bool IsBestMarked(CandidateSet candidates)
    {
        for (int i = 0; i < candidates.Count; i++)
        {
            if (candidates.IsValidCandidate(i))
            {
                return IsMarked(candidates[i].Endpoint);
            }
        }

        return false;
    }

    private static bool IsMarked(Endpoint endpoint) => endpoint.Metadata.GetMetadata<RunOffReactorAttribute>() is not null;
}
