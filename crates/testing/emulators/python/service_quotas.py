"""The account limits that a room depends on, with AWS's defaults. LocalEmu knows only the limits of
virtual networks.
"""

from localemu.runtime import hooks
from moto.servicequotas.models import ServiceQuotasBackend

QUOTAS = {
    ("lambda", "L-B99A9384"): 1000.0,
    ("apigateway", "L-8A5B8E43"): 10000.0,
    ("apigateway", "L-CDF5615A"): 5000.0,
    ("dynamodb", "L-CF0CBE56"): 40000.0,
    ("dynamodb", "L-AB614373"): 40000.0,
}


@hooks.on_infra_start()
def know_quotas():
    get = ServiceQuotasBackend.get_service_quota

    def get_or_known(self, service_code, quota_code):
        value = QUOTAS.get((service_code, quota_code))
        if value is None:
            return get(self, service_code, quota_code)
        return {"ServiceCode": service_code, "QuotaCode": quota_code, "Value": value, "Adjustable": True}

    ServiceQuotasBackend.get_service_quota = get_or_known
